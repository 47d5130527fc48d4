/** Handlers and commands in processes of their own: what they may do, and that they end with their run. */
import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { STORES } from "../../fixtures/jobs/jobs.fixture.js";
import { Crew, isAtWork } from "../../fixtures/jobs/worker-processes.fixture.js";

const WAIT = { timeoutMs: 240_000 };
const LIMIT = { timeout: 240_000 };
const P = { project: "alpha" };

describe.each(STORES)("JOB-5: a handler in a process of its own, on %s", (on) => {
  it("has rows of the caller's own, locks to commit under, and tells what it threw", async () => {
    await using crew = new Crew(on);
    const [jobs, holdfast] = [await crew.place.jobs(), await crew.place.holdfast("user:ann")];
    const rows = await holdfast.acquire("rows");
    const say = (text: string) =>
      rows.transaction((sql) => (sql.answersAtOnce ? sql.rows(text) : (sql.query(text) as never)));
    await say("DROP TABLE IF EXISTS ends");
    await say("CREATE TABLE ends (job INTEGER, what TEXT)");
    const payload = (what: string) => ({ do: what, file: `${crew.file}.out` });
    const once = { ...P, attempts: 1 };
    const good = await jobs.enqueue("child", payload("rows"), once);
    const bad = await jobs.enqueue("child", { ...payload("rows"), isBad: true }, once);
    const locks = [{ resource: "k", mode: "write" }] as const;
    const locked = await jobs.enqueue("child", payload("locked"), { ...once, locks });
    const failing = { odd: "E_INVALID_ARGUMENT", die: "failed" };
    const failed = await Promise.all(
      Object.entries(failing).map(async ([what, code]) => ({
        code,
        job: await jobs.enqueue("child", payload(what), once),
      })),
    );
    const nothing = await jobs.enqueue("none", null, once);
    await crew.start("30s");
    expect(await jobs.wait(good.id, WAIT)).toMatchObject({ state: "done", result: { rows: 2 } });
    expect((await jobs.wait(bad.id, WAIT)).error).toEqual({ code: "failed", message: "changed my mind" });
    expect(await say("SELECT job, what FROM ends")).toMatchObject([{ what: "first" }, { what: "second" }]);
    expect(await jobs.wait(locked.id, WAIT)).toMatchObject({ state: "done", result: "E_LOCK_NOT_HELD" });
    expect(readFileSync(`${crew.file}.out`, "utf8")).toBe("committed\n");
    for (const { code, job } of failed)
      expect(await jobs.wait(job.id, WAIT)).toMatchObject({ state: "failed", error: { code } });
    expect((await jobs.wait(nothing.id, WAIT)).error?.message).toContain("nothing-there.mjs");
  });
});

describe("JOB-6: a handler in a process of its own", () => {
  // kills: job-group
  it("blocks its process for as long as it likes, and the worker goes on beating", async () => {
    await using crew = new Crew("sqlite");
    const [jobs, hands] = [await crew.place.jobs(), await crew.place.hands()];
    const { id } = await jobs.enqueue("child", { do: "block", file: crew.file }, P);
    await crew.start("4s");
    await expect.poll(() => crew.begun.map(({ job }) => job), LIMIT).toContain(id);
    const slot = async () => (await hands.rows<{ fence: number; until_ms: number }>("SELECT * FROM job_slots"))[0];
    let first = await slot();
    const hasGrown = async (): Promise<boolean> => {
      const now = await slot();
      if (now === undefined || first === undefined || now.fence !== first.fence) first = now;
      return now !== undefined && first !== undefined && now.until_ms > first.until_ms;
    };
    await expect.poll(hasGrown, LIMIT).toBe(true);
    await expect.poll(async () => (await jobs.get(id)).progress, LIMIT).toEqual({ blocked: true });
    crew.letGo();
    const done = await jobs.wait(id, WAIT);
    expect(done.state).toBe("done");
    const runs = crew.begun;
    expect(runs.map(({ pid }) => pid)).toContain(done.result);
    for (const { pid } of runs) await expect.poll(() => isAtWork(pid), LIMIT).toBe(false);
  });

  it("is ended with all it started when its job is cancelled, or its time is up", async () => {
    await using crew = new Crew("sqlite");
    const jobs = await crew.place.jobs();
    await crew.start("30s");
    const block = { do: "block", file: crew.file };
    const cancelled = await jobs.enqueue("child", block, P);
    const heeding = await jobs.enqueue("child", { do: "heed" }, { ...P, attempts: 1 });
    const late = await jobs.enqueue("child", block, { ...P, attempts: 1, timeout: "1s" });
    await expect.poll(() => crew.begun.map(({ job }) => job), LIMIT).toContain(cancelled.id);
    await jobs.cancel(cancelled.id);
    await expect.poll(async () => (await jobs.get(heeding.id)).progress, LIMIT).toBe("waits");
    await jobs.cancel(heeding.id);
    for (const { id } of [cancelled, heeding]) expect((await jobs.wait(id, WAIT)).state).toBe("cancelled");
    expect(await jobs.wait(late.id, WAIT)).toMatchObject({ state: "failed", error: { code: "E_LOCK_TIMEOUT" } });
    for (const { pid } of crew.begun) await expect.poll(() => isAtWork(pid), LIMIT).toBe(false);
  });
});

describe("JOB-5: a handler of a worker that is itself the command of a run", () => {
  // kills: module-in-a-run
  it("is no part of that run, as little as a command is", async () => {
    await using crew = new Crew("sqlite");
    const jobs = await crew.place.jobs();
    const { id } = await jobs.enqueue("child", { do: "env" }, P);
    const own = { HOLDFAST_RESOURCE: "k", HOLDFAST_FENCING_TOKEN: "7", HOLDFAST_LEASE_TOKEN: "hf_k" };
    const around = { ...own, HOLDFAST_OUTER: "hf_o o" };
    await crew.start("30s", around);
    const { result } = await jobs.wait(id, WAIT);
    expect(result).toContain("HOLDFAST_JOB");
    for (const name of Object.keys(around)) expect(result).not.toContain(name);
  });
});

describe("JOB-6: a command that has ended in time", () => {
  // kills: ended-in-time
  it("is done, also when its time is up while somebody who left its group keeps its output open", async () => {
    await using crew = new Crew("sqlite");
    const jobs = await crew.place.jobs();
    await crew.start("30s");
    const command = ["sh", "-c", "setsid sleep 5 & echo out; sleep 0.3"];
    // On a busy machine one may be late indeed.
    const { id } = await jobs.enqueue("sh", null, { ...P, attempts: 3, timeout: "900ms", command });
    expect(await jobs.wait(id, WAIT)).toMatchObject({ state: "done", result: { exit_code: 0, output: "out\n" } });
  });
});

describe("JOB-6: children of a worker that vanishes", () => {
  const begin = async (crew: Crew) => {
    const jobs = await crew.place.jobs();
    const command = ["sh", "-c", `echo $$ 0 $PPID >> ${crew.file}; sleep 600; true`];
    await jobs.enqueue("sh", null, { ...P, attempts: 100, command });
    await jobs.enqueue("child", { do: "block", file: crew.file }, { ...P, attempts: 100 });
  };

  // kills: job-killed-worker
  it("are ended at once when it was killed, handlers and commands alike", async () => {
    await using crew = new Crew("sqlite");
    await begin(crew);
    const worker = await crew.start("1h");
    await expect.poll(() => crew.begun, LIMIT).toHaveLength(2);
    worker.kill("SIGKILL");
    // Long before the lease is over: it is the keeper that does it.
    for (const { pid } of crew.begun) await expect.poll(() => isAtWork(pid), LIMIT).toBe(false);
  });

  // kills: job-frozen-worker
  it("are ended when it is frozen and its lease is over", async () => {
    await using crew = new Crew("sqlite");
    await begin(crew);
    const worker = await crew.start("2s");
    await expect.poll(() => crew.begun.length, LIMIT).toBeGreaterThanOrEqual(2);
    writeFileSync(`${crew.file}.${worker.pid}`, "");
    const atWork = () => crew.begun.filter(({ pid }) => isAtWork(pid));
    await expect.poll(atWork, LIMIT).toEqual([]);
  });
});
