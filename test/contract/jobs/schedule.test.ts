import pg from "pg";
import { describe, expect, it, vi } from "vitest";
import type { JobRecord } from "../../../src/features/jobs/model.js";
import { nextTime } from "../../../src/features/jobs/scripts/schedule.js";
import type { Sql } from "../../../src/store/contract.js";
import { Place, STORES } from "../../fixtures/jobs/jobs.fixture.js";
import { administer } from "../../fixtures/postgres/server.fixture.js";

const WAIT = { timeoutMs: 60_000 };
const P = { project: "alpha" };
/** So seldom that no time of it comes while a test runs. */
const YEARLY = { ...P, cron: "0 0 1 1 *" };

describe("JOB-7: times of a schedule", () => {
  const at = (text: string) => Date.parse(text);
  const next = (cron: string, zone: string, after: string) =>
    new Date(nextTime(cron, zone, at(after)) ?? Number.NaN).toISOString();

  it("are those of the wall where it hangs, through the changes of the clocks", () => {
    expect(next("30 8 * * *", "UTC", "2026-03-29T00:00:00Z")).toBe("2026-03-29T08:30:00.000Z");
    expect(next("30 8 * * *", "Europe/Berlin", "2026-03-28T00:00:00Z")).toBe("2026-03-28T07:30:00.000Z");
    expect(next("30 8 * * *", "Europe/Berlin", "2026-03-29T00:00:00Z")).toBe("2026-03-29T06:30:00.000Z");
    expect(next("30 8 * * *", "America/New_York", "2026-11-01T00:00:00Z")).toBe("2026-11-01T13:30:00.000Z");
  });

  it("are after the one given, and never the same again", () => {
    expect(next("0 * * * *", "UTC", "2026-01-01T10:00:00Z")).toBe("2026-01-01T11:00:00.000Z");
    expect(next("*/10 * * * * *", "UTC", "2026-01-01T10:00:00Z")).toBe("2026-01-01T10:00:10.000Z");
    expect(nextTime("0 0 30 2 *", "UTC", 0)).toBeNull();
  });
});

describe.each(STORES)("JOB-7: jobs that come again, on %s", (on) => {
  // kills: job-schedule-moves-on
  it("are added once for each time, however many look, and one makes up for all that went by", async () => {
    await using place = new Place(on);
    const [one, two] = [await place.hands(), await place.hands()];
    const { id, run_at: time } = await one.add(YEARLY);
    expect(await one.turn()).toEqual([]);
    // As if five times had gone by.
    await one.rows("UPDATE jobs SET run_at = run_at - ?1 WHERE job = ?2", 5 * 366 * 86_400_000, id);
    const runs = (await Promise.all([one.turn({ room: 9 }), two.turn({ room: 9 })])).flat();
    expect(runs.map(({ job }) => job)).toMatchObject([{ schedule: id, cron: null, kind: "k", attempts: 1 }]);
    const [schedule] = await one.rows<{ run_at: number; state: string }>("SELECT * FROM jobs WHERE job = ?1", id);
    expect(schedule).toMatchObject({ state: "scheduled", run_at: Date.parse(time) });
    await one.turn({ room: 9 });
    expect(await one.rows("SELECT job FROM jobs")).toHaveLength(2);
  });

  it("under a name are left out while the last one is not over, and adding the name again changes the times", async () => {
    await using place = new Place(on);
    const hands = await place.hands();
    const { id } = await hands.add({ ...YEARLY, unique: "report" });
    const due = (which: number) => hands.rows("UPDATE jobs SET run_at = 0 WHERE job = ?1", which);
    await due(id);
    const [run] = await hands.turn();
    expect(run?.job.unique_key).toBe("report");
    await due(id);
    expect(await hands.turn()).toEqual([]);
    expect((await hands.entries(id)).at(-1)).toMatchObject({ change: "left out", because_of: run?.job.id });
    if (run !== undefined) await hands.settle(run);
    const changed = await hands.add({ ...P, cron: "0 3 * * *", timeZone: "Asia/Tokyo", unique: "report" });
    expect(changed).toMatchObject({ state: "scheduled", cron: "0 3 * * *", time_zone: "Asia/Tokyo" });
    expect(changed.run_at).toMatch(/T18:00:00/);
    expect(await hands.rows("SELECT job FROM jobs WHERE cron IS NOT NULL")).toEqual([{ job: changed.id }]);
    await hands.cancel(changed.id);
    await due(changed.id);
    expect(await hands.turn()).toEqual([]);
  });

  // kills: job-schedule-again
  it("that went by are made up for also when the name was added again meanwhile, unless the times are others", async () => {
    await using place = new Place(on);
    const hands = await place.hands();
    const named = { ...YEARLY, unique: "report" };
    const wentBy = async ({ id }: JobRecord) => hands.rows("UPDATE jobs SET run_at = 0 WHERE job = ?1", id);
    await wentBy(await hands.add(named));
    const again = await hands.add(named);
    const [run] = await hands.turn();
    expect(run?.job.schedule).toBe(again.id);
    if (run !== undefined) await hands.settle(run);
    await wentBy(again);
    await hands.add({ ...named, cron: "0 0 2 1 *" });
    expect(await hands.turn()).toEqual([]);
  });

  it("are refused when they are no times, or no place on earth", async () => {
    await using place = new Place(on);
    const jobs = await place.jobs();
    const odd = [
      { cron: "61 * * * *" },
      { cron: "0 0 30 2 *" },
      { cron: "x" },
      { cron: "0 * * * *", timeZone: "Mars" },
    ];
    for (const options of odd)
      await expect(jobs.enqueue("k", null, { ...P, ...options })).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT" });
    expect(await jobs.list()).toEqual([]);
  });
});

describe.each(STORES)("JOB-1: a job added in a transaction of the caller's, on %s", (on) => {
  const say = (sql: Sql, text: string) => (sql.answersAtOnce ? sql.rows(text) : sql.query(text));

  it("is there with the caller's rows, or not at all", async () => {
    await using place = new Place(on);
    const [jobs, hands, holdfast] = [await place.jobs(), await place.hands(), await place.holdfast("user:ann")];
    const lease = await holdfast.acquire("rows");
    await lease.transaction((sql) => say(sql, "DROP TABLE IF EXISTS orders"));
    await lease.transaction((sql) => say(sql, "CREATE TABLE orders (id INTEGER)"));
    const order = async (id: number): Promise<number> =>
      lease.transaction((sql) => {
        const written = say(sql, `INSERT INTO orders VALUES (${id})`);
        const job = () => jobs.enqueueIn(sql, "ship", { order: id }, { ...P, unique: `order ${id}` });
        const sure = (number: number): number => {
          if (id === 13) throw new Error("changed my mind");
          return number;
        };
        return written instanceof Promise ? written.then(job).then(sure) : sure(Number(job()));
      });
    const id = await order(1);
    await expect(order(13)).rejects.toThrow("changed my mind");
    expect(await order(1), "the one of this key").toBe(id);
    expect((await jobs.list()).map((job) => job.id)).toEqual([id]);
    const [run] = await hands.turn({ has: ["kind:ship"], room: 5 });
    expect(run?.job).toMatchObject({ id, payload: { order: 1 }, state: "running" });
    expect((await hands.entries(id)).map(({ change }) => change)).toEqual(["added", "started"]);
  });

  if (on === "postgres")
    it("is delayed by the server's clock, whatever that of the program shows", async () => {
      await using place = new Place(on);
      const [hands, now] = [await place.hands(), Date.now()];
      const fast = vi.spyOn(Date, "now").mockReturnValue(now + 86_400_000);
      const { run_at: runAt } = await hands.add({ ...P, delay: "1h" }).finally(() => fast.mockRestore());
      expect(Date.parse(runAt)).toBeGreaterThan(now);
      expect(Date.parse(runAt)).toBeLessThan(now + 7_200_000);
    });

  // kills: job-enqueue-locks, job-enqueue-needs
  if (on === "postgres")
    it("by anybody's statement is checked, so that none stops those who run the others", async () => {
      await using place = new Place(on);
      const url = await place.store();
      const hands = await place.hands();
      const add = (more: object) =>
        administer(url, `select holdfast.job_enqueue('${JSON.stringify({ kind: "k", project: "alpha", ...more })}')`);
      const odd = [
        { locks: {} },
        { locks: ["k"] },
        { locks: [{ resource: "no key" }] },
        { locks: [{ resource: "k", mode: "odd" }] },
        { needs: {} },
        { needs: ["no label"] },
        { command: [] },
        { command: [1] },
        { run_at: 9e15 },
        { timeout_ms: 1e12 },
        { lock_wait_ms: 0 },
        { max_attempts: 0 },
      ];
      for (const more of odd) await expect(add(more), JSON.stringify(more)).rejects.toThrow("E_INVALID_ARGUMENT");
      await add({ needs: ["fs:b", "fs:a"], locks: [{ resource: "k" }] });
      expect(await hands.rows("SELECT needs, locks FROM jobs")).toEqual([
        { needs: '["fs:a","fs:b","kind:k"]', locks: '[{"resource":"k","mode":"write"}]' },
      ]);
    });

  // kills: job-enqueue-locks, job-enqueue-needs
  if (on === "postgres")
    it("by anybody's statement has the payload that is named there, whatever it is", async () => {
      await using place = new Place(on);
      const [url, jobs] = [await place.store(), await place.jobs()];
      const payloads = ["text", "5", "true", { a: ["1"] }, 5, null];
      for (const payload of payloads) {
        const spec = JSON.stringify({ kind: "k", project: "alpha", payload });
        await administer(url, `select holdfast.job_enqueue('${spec}')`);
      }
      expect((await jobs.list()).map(({ payload }) => payload)).toEqual(payloads);
    });

  it("can be cancelled before any worker has seen it", async () => {
    await using place = new Place(on);
    const [jobs, hands, holdfast] = [await place.jobs(), await place.hands(), await place.holdfast("user:ann")];
    const lease = await holdfast.acquire("rows");
    const id = await lease.transaction((sql) => jobs.enqueueIn(sql, "k", null, P));
    expect((await jobs.cancel(id)).state).toBe("cancelled");
    expect(await hands.turn()).toEqual([]);
  });

  it("is lined up whatever it looks like by then", async () => {
    await using place = new Place(on);
    const [jobs, hands, holdfast] = [await place.jobs(), await place.hands(), await place.holdfast("user:ann")];
    const lease = await holdfast.acquire("rows");
    const id = await lease.transaction((sql) => jobs.enqueueIn(sql, "k", null, P));
    await hands.rows("UPDATE jobs SET state = 'ready' WHERE job = ?1", id);
    expect((await hands.turn()).map(({ job }) => job.id)).toEqual([id]);
  });

  if (on === "postgres")
    it("holds no worker up while the transaction is open", async () => {
      await using place = new Place(on);
      const [jobs, hands] = [await place.jobs(), await place.hands()];
      const client = new pg.Client({ connectionString: await place.store() });
      await client.connect();
      await client.query("begin");
      const id = await jobs.enqueueIn(client, "k", null, P);
      const other = await hands.add(P);
      expect((await hands.turn({ room: 5 })).map(({ job }) => job.id)).toEqual([other.id]);
      await client.query("commit");
      await client.end();
      expect((await hands.turn({ room: 5 })).map(({ job }) => job.id)).toEqual([id]);
    });

  it("is run by a worker", async () => {
    await using place = new Place(on);
    const [jobs, holdfast] = [await place.jobs(), await place.holdfast("user:ann")];
    jobs.define("k", {}, (job) => job.payload);
    place.work(jobs);
    const lease = await holdfast.acquire("rows");
    const id = await lease.transaction((sql) => jobs.enqueueIn(sql, "k", "worked", P));
    expect(await jobs.wait(id, WAIT)).toMatchObject({ state: "done", result: "worked" });
  });
});

describe.each(STORES)("JOB-7: jobs that are over, on %s", (on) => {
  it("are kept as long as was said, each by how it ended", async () => {
    await using place = new Place(on);
    const [jobs, hands] = [await place.jobs(), await place.hands()];
    jobs.define("k", { attempts: 1 }, (job) => {
      if (job.payload === "bad") throw new Error("bad");
    });
    expect(await jobs.keep()).toMatchObject({ done: 604_800_000, failed: 7_776_000_000 });
    await jobs.setKeep({ done: 0, failed: null });
    const [good, bad] = [await jobs.enqueue("k", "good", P), await jobs.enqueue("k", "bad", P)];
    const waiting = await jobs.enqueue("other", null, P);
    const worker = place.work(jobs);
    await jobs.wait(bad.id, WAIT);
    await expect
      .poll(async () => (await jobs.get(good.id).catch(() => null))?.state ?? "gone", { timeout: 60_000 })
      .toMatch(/done|gone/);
    await worker.stop();
    place.work(jobs);
    const left = async () => (await jobs.list()).map((job) => job.id);
    await expect.poll(left, { timeout: 60_000 }).toEqual([bad.id, waiting.id]);
    expect(await hands.entries(0)).toContainEqual(
      expect.objectContaining({ change: "taken away", state: "done", jobs: 1 }),
    );
    await expect(jobs.setKeep({ ready: 1 } as never)).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT" });
  });
});
