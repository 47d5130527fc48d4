/** Workers that are killed and frozen. */
import { writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { STORES } from "../../fixtures/jobs/jobs.fixture.js";
import { Crew, stateOf } from "../../fixtures/jobs/worker-processes.fixture.js";

const LIMIT = { timeout: 240_000 };

describe.each(STORES)("JOB-6: workers that vanish, on %s", { timeout: 300_000 }, (on) => {
  it("a killed worker's jobs are done by another, once each, with locks and counters in order", async () => {
    await using crew = new Crew(on);
    const [jobs, hands] = [await crew.place.jobs(), await crew.place.hands()];
    const locks = [{ resource: "project:alpha/map:m1", mode: "write" }] as const;
    const [plain, locked] = [
      await jobs.enqueue("slow", null, { project: "alpha", attempts: 100 }),
      await jobs.enqueue("slow", null, { project: "alpha", attempts: 100, locks }),
    ];
    const both = new Set([plain.id, locked.id]);
    const first = await crew.start();
    await expect.poll(() => crew.begunBy(first), LIMIT).toEqual(both);
    first.kill("SIGKILL");
    const second = await crew.start();
    await expect.poll(() => crew.begunBy(second), LIMIT).toEqual(both);
    crew.letGo();
    for (const id of both) {
      const done = await jobs.wait(id, { timeoutMs: 240_000 });
      expect(done).toMatchObject({ state: "done", result: second.pid });
      const changes = (await hands.entries(id)).map(({ change }) => change);
      expect(changes.filter((change) => change === "done")).toHaveLength(1);
      expect(changes.filter((change) => change === "started")).toHaveLength(done.attempts);
      expect(done.attempts).toBeGreaterThanOrEqual(2);
    }
    expect(await hands.rows("SELECT name FROM job_gates WHERE running <> 0")).toEqual([]);
    expect(await hands.locks()).toEqual([]);
  });

  // kills: takes-back-its-own
  it("JOB-5: what ended while its worker was frozen is taken for what it is, when nobody has taken its slot back", async () => {
    await using crew = new Crew(on);
    const jobs = await crew.place.jobs();
    const command = [
      "sh",
      "-c",
      `echo $$ 0 $PPID >> ${crew.file}; while [ ! -e ${crew.file}.go ]; do sleep 0.05; done`,
    ];
    const { id } = await jobs.enqueue("sh", null, { project: "alpha", attempts: 1, timeout: "5s", command });
    const worker = await crew.start("6s");
    await expect.poll(() => crew.begun, LIMIT).toHaveLength(1);
    writeFileSync(`${crew.file}.${worker.pid}`, "");
    await expect.poll(() => stateOf(worker), LIMIT).toBe("T");
    crew.letGo();
    await expect.poll(async () => (await jobs.get(id)).is_lapsed, LIMIT).toBe(true);
    worker.kill("SIGCONT");
    expect(await jobs.wait(id, { timeoutMs: 240_000 })).toMatchObject({ state: "done", attempts: 1 });
  });

  it("JOB-5: a frozen worker that comes back while another has its job settles nothing, and that is on record", async () => {
    await using crew = new Crew(on);
    const [jobs, hands] = [await crew.place.jobs(), await crew.place.hands()];
    const { id } = await jobs.enqueue("slow", null, { project: "alpha", attempts: 100 });
    const first = await crew.start();
    await expect.poll(() => crew.begunBy(first), LIMIT).toEqual(new Set([id]));
    writeFileSync(`${crew.file}.${first.pid}`, "");
    await expect.poll(() => stateOf(first), LIMIT).toBe("T");
    const second = await crew.start();
    await expect.poll(() => crew.begunBy(second), LIMIT).toEqual(new Set([id]));
    first.kill("SIGCONT");
    const changes = async () => (await hands.entries(id)).map(({ change }) => change);
    await expect.poll(changes, LIMIT).toContain("came too late");
    crew.letGo();
    expect(await jobs.wait(id, { timeoutMs: 240_000 })).toMatchObject({ state: "done" });
    expect((await changes()).filter((change) => change === "done")).toHaveLength(1);
    const ends = await hands.ends(id);
    expect(ends, "each run ends once").toEqual([...new Set(ends)]);
    expect(await hands.rows("SELECT name FROM job_gates WHERE running <> 0")).toEqual([]);
  });
});
