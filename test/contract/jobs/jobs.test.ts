import { describe, expect, it } from "vitest";
import type { Sql } from "../../../src/store/contract.js";
import { Place, STORES } from "../../fixtures/jobs/jobs.fixture.js";

const WAIT = { timeoutMs: 240_000 };
const P = { project: "alpha" };

describe.each(STORES)("JOB-1: jobs, on %s", (on) => {
  it("are run by a worker that knows their kind, and keep what it returns", async () => {
    await using place = new Place(on);
    const jobs = await place.jobs();
    jobs.define("double", {}, (job) => (job.payload as number) * 2);
    const { id } = await jobs.enqueue("double", 21, P);
    expect(await jobs.get(id)).toMatchObject({ state: "ready", attempts: 0 });
    place.work(jobs);
    expect(await jobs.wait(id, WAIT)).toMatchObject({ state: "done", result: 42, attempts: 1, error: null });
  });

  it("that fail are tried again as often as they may, and keep the reason", async () => {
    await using place = new Place(on);
    const jobs = await place.jobs();
    let runs = 0;
    jobs.define("fails", { attempts: 2 }, () => {
      runs += 1;
      throw new Error("no luck");
    });
    place.work(jobs);
    const { id } = await jobs.enqueue("fails", null, P);
    expect(await jobs.wait(id, WAIT)).toMatchObject({ state: "failed", attempts: 2, error: { message: "no luck" } });
    expect(runs).toBe(2);
    await jobs.retry(id);
    expect(await jobs.wait(id, WAIT)).toMatchObject({ state: "failed", attempts: 2 });
    expect(runs).toBe(4);
  });

  it("with the same unique key are one while it is not over", async () => {
    await using place = new Place(on);
    const jobs = await place.jobs();
    jobs.define("once", {}, () => null);
    const first = await jobs.enqueue("once", 1, { ...P, unique: "k" });
    const second = await jobs.enqueue("once", 2, { ...P, unique: "k" });
    expect(second.id).toBe(first.id);
    place.work(jobs);
    await jobs.wait(first.id, WAIT);
    expect((await jobs.enqueue("once", 3, { ...P, unique: "k" })).id).not.toBe(first.id);
  });

  it("JOB-7: run by priority, not before their time, and are cancelled before and while they run", async () => {
    await using place = new Place(on);
    const jobs = await place.jobs();
    const order: unknown[] = [];
    jobs.define("note", {}, (job) => order.push(job.payload));
    jobs.define("hang", {}, (_, { signal }) => new Promise((resolve) => signal.addEventListener("abort", resolve)));
    const low = await jobs.enqueue("note", "low", P);
    const high = await jobs.enqueue("note", "high", { ...P, priority: 9 });
    const later = await jobs.enqueue("note", "later", { ...P, delay: "1h" });
    const gone = await jobs.enqueue("note", "gone", P);
    const hanging = await jobs.enqueue("hang", null, { project: "beta" });
    expect((await jobs.cancel(gone.id)).state).toBe("cancelled");
    place.work(jobs, { concurrency: 2 });
    await jobs.wait(low.id, WAIT);
    await jobs.wait(high.id, WAIT);
    expect(order).toEqual(["high", "low"]);
    expect((await jobs.get(later.id)).state).toBe("scheduled");
    while ((await jobs.get(hanging.id)).state !== "running");
    await jobs.cancel(hanging.id);
    expect((await jobs.wait(hanging.id, WAIT)).state).toBe("cancelled");
  });

  it("that run too long are ended", async () => {
    await using place = new Place(on);
    const jobs = await place.jobs();
    jobs.define("hang", { timeout: 50, attempts: 1 }, () => new Promise(() => undefined));
    place.work(jobs);
    const { id } = await jobs.enqueue("hang", null, P);
    expect(await jobs.wait(id, WAIT)).toMatchObject({ state: "failed", error: { code: "E_LOCK_TIMEOUT" } });
  });

  it("JOB-8: whose needs no worker here meets wait for one that does", async () => {
    await using place = new Place(on);
    const jobs = await place.jobs();
    jobs.define("reach", {}, () => "reached");
    const { id } = await jobs.enqueue("reach", null, { ...P, needs: ["fs:projects-a"] });
    place.work(jobs, { has: ["fs:projects-b"] });
    const other = await jobs.enqueue("reach", null, P);
    await jobs.wait(other.id, WAIT);
    expect((await jobs.get(id)).state).toBe("ready");
    place.work(jobs, { has: ["fs:projects-a"] });
    expect((await jobs.wait(id, WAIT)).result).toBe("reached");
  });
});

describe.each(STORES)("JOB-4: a job's locks, on %s", (on) => {
  it("are the same locks as everywhere: it waits for whoever holds them, and holds back nobody else", async () => {
    await using place = new Place(on);
    const [jobs, holdfast] = [await place.jobs(), await place.holdfast("agent:a")];
    const lock = { resource: "project:alpha/map:m1", mode: "write" } as const;
    jobs.define("edit", {}, async (_, { lease }) => lease?.commit(() => "written"));
    const held = await holdfast.acquire("project:alpha");
    const waiting = await jobs.enqueue("edit", null, { ...P, locks: [lock] });
    place.work(jobs);
    const free = await jobs.enqueue("edit", null, P);
    await jobs.wait(free.id, WAIT);
    expect(await jobs.get(waiting.id)).toMatchObject({ state: "waiting", error: { code: "E_LOCK_CONFLICT" } });
    await held.release();
    expect(await jobs.wait(waiting.id, WAIT)).toMatchObject({ state: "done", result: "written" });
    expect(await holdfast.list()).toEqual([]);
  });

  it("are given back as soon as the job says so, and it is done all the same", async () => {
    await using place = new Place(on);
    const [jobs, holdfast] = [await place.jobs(), await place.holdfast("agent:a")];
    jobs.define("edit", { attempts: 1 }, async (_, { lease, release }) => {
      await lease?.commit(() => undefined);
      await release();
      return (await holdfast.acquire("k", { wait: 0 })).keys;
    });
    place.work(jobs);
    const { id } = await jobs.enqueue("edit", null, { ...P, locks: [{ resource: "k", mode: "write" }] });
    expect(await jobs.wait(id, WAIT)).toMatchObject({ state: "done", result: ["k"] });
  });

  it("are given up after their time limit, with the reason", async () => {
    await using place = new Place(on);
    const [jobs, holdfast] = [await place.jobs(), await place.holdfast("agent:a")];
    jobs.define("edit", { attempts: 1 }, () => null);
    await holdfast.acquire("k");
    place.work(jobs);
    const { id } = await jobs.enqueue("edit", null, { ...P, locks: [{ resource: "k", mode: "write" }], lockWait: 100 });
    const failed = await jobs.wait(id, WAIT);
    expect(failed).toMatchObject({ state: "failed", error: { code: "E_LOCK_TIMEOUT" } });
    expect(failed.error?.message).toContain("agent:a");
  });

  it("cannot be keys that only a person ends", async () => {
    await using place = new Place(on);
    const jobs = await place.jobs();
    const odd = jobs.enqueue("edit", null, { ...P, locks: [{ resource: "k", mode: "exclusive" as never }] });
    await expect(odd).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT" });
  });
});

describe.each(STORES)("JOB-5: settling, on %s", (on) => {
  it("writes the caller's rows with the job's end, or neither", async () => {
    await using place = new Place(on);
    const [jobs, holdfast] = [await place.jobs(), await place.holdfast("user:ann")];
    const lease = await holdfast.acquire("rows");
    const say = (sql: Sql, text: string) => (sql.answersAtOnce ? sql.rows(text) : sql.query(text));
    await lease.transaction((sql) => say(sql, "DROP TABLE IF EXISTS ends"));
    await lease.transaction((sql) => say(sql, "CREATE TABLE ends (job INTEGER)"));
    jobs.define("row", { attempts: 1 }, (job, { onSettle }) => {
      onSettle((sql) => say(sql, `INSERT INTO ends VALUES (${job.id})`));
      if (job.payload === "bad") onSettle((sql) => say(sql, "INSERT INTO nowhere VALUES (1)"));
    });
    place.work(jobs);
    const good = await jobs.enqueue("row", "good", P);
    const bad = await jobs.enqueue("row", "bad", P);
    expect((await jobs.wait(good.id, WAIT)).state).toBe("done");
    expect((await jobs.wait(bad.id, WAIT)).state).toBe("failed");
    expect(await lease.transaction((sql) => say(sql, "SELECT job FROM ends"))).toEqual([{ job: good.id }]);
  });

  // kills: job-locks-at-settle
  it("is refused when a lock of the run was lost meanwhile", async () => {
    await using place = new Place(on);
    const [jobs, admin] = [await place.jobs(), await place.holdfast("admin:ann")];
    jobs.define("edit", { attempts: 1 }, () => admin.break("k", { reason: "test" }));
    place.work(jobs);
    const { id } = await jobs.enqueue("edit", null, { ...P, locks: [{ resource: "k", mode: "write" }] });
    expect(await jobs.wait(id, WAIT)).toMatchObject({ state: "failed", error: { code: "E_LOCK_NOT_HELD" } });
  });
});

describe.each(STORES)("JOB-6: commands, on %s", (on) => {
  // kills: job-command-output
  it("run in a group of their own, keep their output, and fail with their exit code", async () => {
    await using place = new Place(on);
    const jobs = await place.jobs();
    place.work(jobs, { commands: true });
    const good = await jobs.enqueue("sh", null, { ...P, command: ["sh", "-c", "echo out; echo $HOLDFAST_JOB"] });
    expect(await jobs.wait(good.id, WAIT)).toMatchObject({ state: "done", result: { output: `out\n${good.id}\n` } });
    const zeros = await jobs.enqueue("sh", null, { ...P, command: ["head", "-c", "100000", "/dev/zero"] });
    const half = "\0".repeat(32_768);
    const output = `${half}\n… 34464 bytes left out …\n${half}`;
    expect(await jobs.wait(zeros.id, WAIT)).toMatchObject({ state: "done", result: { output } });
    const bad = await jobs.enqueue("sh", null, { ...P, command: ["sh", "-c", "echo why; exit 3"], attempts: 1 });
    expect((await jobs.wait(bad.id, WAIT)).error?.message).toBe("sh ended with 3: why");
  });
});
