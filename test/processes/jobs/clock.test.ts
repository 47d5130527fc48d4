/** Calendars that jump: slots go by a clock that does not. */
import { writeFileSync } from "node:fs";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { Place, STORES } from "../../fixtures/jobs/jobs.fixture.js";
import { Crew } from "../../fixtures/jobs/worker-processes.fixture.js";

const LIMIT = { timeout: 240_000 };
const LIMIT_OF_WAIT = { timeoutMs: 240_000 };
const HOURS = 2 * 3_600_000;
const MONTH = 30 * 24 * 3_600_000;
const ROOM = 4;

describe.each(STORES)("JOB-6: a worker whose calendar jumps, on %s", (on) => {
  // kills: job-calendar
  it("takes nobody's slot back, and keeps its own", async () => {
    await using crew = new Crew(on);
    const jobs = await crew.place.jobs();
    const clock = `${crew.file}.clock`;
    writeFileSync(clock, "0");
    const slow = async () => (await jobs.enqueue("slow", null, { project: "alpha" })).id;
    const steady = await crew.start("10m");
    const first = new Set<number>();
    while (first.size < ROOM) first.add(await slow());
    await expect.poll(() => crew.begunBy(steady), LIMIT).toEqual(first);
    const jumping = await crew.start("10m", {
      NODE_OPTIONS: `--import ${new URL("./jumping-clock.fixture.mjs", import.meta.url).href}`,
      JUMPING_CLOCK: clock,
    });
    // The other one has no room: each of these says that this one took a turn after the jump.
    for (const jump of [HOURS, -HOURS]) {
      writeFileSync(clock, String(jump));
      const id = await slow();
      await expect.poll(() => crew.begunBy(jumping), LIMIT).toContain(id);
      first.add(id);
    }
    crew.letGo();
    for (const id of first) expect(await jobs.wait(id, LIMIT_OF_WAIT)).toMatchObject({ state: "done", attempts: 1 });
    expect(crew.begun).toHaveLength(first.size);
  });
});

/** On PostgreSQL the server's calendar counts. */
it("JOB-7: jobs that are over stay, though a worker begins while the calendar is a month ahead", async () => {
  await using place = new Place("sqlite");
  const jobs = await place.jobs();
  jobs.define("k", {}, () => undefined);
  const worker = place.work(jobs);
  const { id } = await jobs.enqueue("k", null, { project: "alpha" });
  await jobs.wait(id, LIMIT_OF_WAIT);
  await worker.stop();

  const nowMs = Date.now.bind(Date);
  const calendar = vi.spyOn(Date, "now").mockImplementation(() => nowMs() + MONTH);
  onTestFinished(() => calendar.mockRestore());
  place.work(jobs);
  // It looks for what is old before it takes its first turn.
  const later = await jobs.enqueue("k", null, { project: "alpha" });
  await jobs.wait(later.id, LIMIT_OF_WAIT);
  expect((await jobs.list()).map((job) => job.id)).toEqual([id, later.id]);
});
