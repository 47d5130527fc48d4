import { describe, expect, it } from "vitest";
import { sleep } from "../../../src/base/sleep.js";
import type { JobRun } from "../../../src/features/jobs/model.js";
import { Place, STORES } from "../../fixtures/jobs/jobs.fixture.js";
import type { Hands } from "../../fixtures/jobs/scheduler-steps.fixture.js";

const K = { resource: "k", mode: "write" } as const;
const OTHER = { resource: "other", mode: "write" } as const;
const withLock = { project: "alpha", locks: [K] };

/** Turns until this one starts, and no other. */
async function started(hands: Hands, id: number): Promise<JobRun> {
  for (const until = Date.now() + 240_000; Date.now() < until; await sleep(20)) {
    await hands.later();
    const [run] = await hands.turn();
    if (run === undefined) continue;
    expect(run.job.id).toBe(id);
    return run;
  }
  throw new Error(`job ${id} was not started`);
}

describe.each(STORES)("JOB-4: a job that steps aside, on %s", (on) => {
  it("gives its place in the lock's line back when it is cancelled", async () => {
    await using place = new Place(on);
    const [hands, agent] = [await place.hands(), await place.holdfast("agent:a")];
    const held = await agent.acquire("k");
    const { id } = await hands.add(withLock);
    await hands.turn();
    expect(await hands.tickets()).toBe(1);
    await hands.cancel(id);
    expect(await hands.tickets()).toBe(0);
    await held.release();
    const next = await agent.acquire("k", { wait: 0 });
    await next.release();
  });

  it("calls whoever waits behind it when it is cancelled", async () => {
    await using place = new Place(on);
    const [hands, agent] = [await place.hands(), await place.holdfast("agent:a")];
    const held = await agent.acquire("k");
    const [first, second] = [await hands.add(withLock), await hands.add(withLock)];
    await hands.turn();
    const waiting = await hands.rows("SELECT job FROM jobs WHERE ticket IS NOT NULL");
    expect(waiting, "one of a flow stands in line").toEqual([{ job: first.id }]);
    await held.release();
    await hands.cancel(first.id);
    await started(hands, second.id);
  });

  it("calls whoever waits behind it when it waits for another key, and when it starts", async () => {
    await using place = new Place(on);
    const [hands, agent] = [await place.hands(), await place.holdfast("agent:a")];
    const held = await agent.acquire("k");
    const first = await hands.add({ project: "alpha", locks: [K, OTHER] });
    const [second, third] = [await hands.add(withLock), await hands.add(withLock)];
    await hands.turn();
    await agent.acquire("other");
    await held.release();
    await hands.later();
    await hands.turn();
    await hands.cancel(first.id);
    await hands.settle(await started(hands, second.id));
    await started(hands, third.id);
  });

  it("does not hold back those of a kind that somebody can run", async () => {
    await using place = new Place(on);
    const [hands, agent] = [await place.hands(), await place.holdfast("agent:a")];
    const held = await agent.acquire("k");
    await hands.add(withLock, "unknown");
    await hands.turn({ has: ["kind:unknown"] });
    const known = await hands.add(withLock);
    await hands.turn();
    await held.release();
    await started(hands, known.id);
  });

  it("asks again by a clock that no change of the calendar moves", async () => {
    await using place = new Place(on);
    const [hands, agent] = [await place.hands(), await place.holdfast("agent:a")];
    const held = await agent.acquire("k");
    const { id } = await hands.add(withLock);
    await hands.turn();
    await hands.rows("UPDATE jobs SET run_at = run_at + 3600000");
    await held.release();
    const isStarted = async () => (await hands.turn())[0]?.job.id;
    await expect.poll(isStarted, { timeout: 240_000 }).toBe(id);
  });

  it("may wait for days", async () => {
    await using place = new Place(on);
    const [hands, agent] = [await place.hands(), await place.holdfast("agent:a")];
    await agent.acquire("k");
    const { id } = await hands.add({ ...withLock, lockWait: "48h" });
    await hands.turn();
    expect(await hands.rows("SELECT state FROM jobs WHERE job = ?1", id)).toEqual([{ state: "waiting" }]);
  });

  it("fails with the reason when waiting would not help, and stops nobody else", async () => {
    await using place = new Place(on);
    const [hands, agent] = [await place.hands(), await place.holdfast("agent:a")];
    await agent.acquire("k", { permits: 2 });
    const bad = await hands.add({ ...withLock, attempts: 1 });
    const good = await hands.add({ project: "alpha" });
    expect((await hands.turn()).map(({ job }) => job.id)).toEqual([good.id]);
    expect(await hands.rows("SELECT state, error FROM jobs WHERE job = ?1", bad.id)).toMatchObject([
      { state: "failed", error: expect.stringContaining("semaphore") },
    ]);
  });

  it("waits a bounded time between attempts, however many there were", async () => {
    await using place = new Place(on);
    const [hands, agent] = [await place.hands(), await place.holdfast("agent:a")];
    await agent.acquire("k", { permits: 2 });
    const { id } = await hands.add({ ...withLock, attempts: 1_000 });
    await hands.rows("UPDATE jobs SET attempts = 990");
    await hands.turn();
    const [row] = await hands.rows<{ run_at: number }>("SELECT run_at FROM jobs WHERE job = ?1", id);
    expect(row?.run_at).toBeLessThan(Date.now() + 3_600_000);
  });
});

describe.each(STORES)("JOB-6: a run that is taken back, on %s", (on) => {
  it("loses its locks with all that nests in them, and settles nothing any more", async () => {
    await using place = new Place(on);
    const [hands, worker] = [await place.hands(), await place.holdfast("service:w")];
    await hands.add(withLock);
    const [run] = await hands.turn();
    if (run === undefined) throw new Error("not started");
    const outer = await worker.borrow("k", run.token);
    const inner = await worker.acquire("k/a", { within: [outer] });
    await worker.acquire("k/a/b", { within: [await worker.borrow("k/a", inner.token)] });
    await hands.lapse(run);
    expect(await hands.beat(run)).toEqual(["lost"]);
    await hands.turn({ room: 0 });
    expect(await hands.state(run.job.id)).toBe("scheduled");
    expect(await worker.list()).toEqual([]);
    expect(await hands.settle(run)).toBe(false);
    expect(await hands.state(run.job.id)).toBe("scheduled");
    expect((await hands.entries(run.job.id)).at(-1)).toMatchObject({ change: "came too late", ending: "done" });
  });

  it("is shown as not heard of from the end of its lease on, until it is", async () => {
    await using place = new Place(on);
    const [hands, jobs] = [await place.hands(), await place.jobs()];
    await hands.add({ project: "alpha", unique: "u" });
    await hands.add({ project: "alpha" });
    const [run, other] = await hands.turn({ room: 2 });
    if (run === undefined || other === undefined) throw new Error("not started");
    const seen = async () => {
      const [lane] = (await jobs.lanes()).lanes;
      const one = [await jobs.get(run.job.id), await jobs.enqueue("k", null, { project: "alpha", unique: "u" })];
      return [...one, ...(await jobs.list()), ...(lane?.runs ?? [])].map(
        ({ id, is_lapsed }) => id === run.job.id && is_lapsed,
      );
    };
    expect(await seen()).toEqual([false, false, false, false, false, false]);
    await hands.lapse(run);
    expect(await seen()).toEqual([true, true, true, false, true, false]);
    await hands.turn({ room: 0 });
    expect(await jobs.get(run.job.id)).toMatchObject({ state: "scheduled", is_lapsed: false });
  });

  // kills: job-slot-number, job-slot-number-in-sql
  it("JOB-5: does not settle the run that came after it", async () => {
    await using place = new Place(on);
    const hands = await place.hands();
    await hands.add({ project: "alpha" });
    const [old] = await hands.turn();
    if (old === undefined) throw new Error("not started");
    await hands.lapse(old);
    await hands.turn({ room: 0 });
    const next = await started(hands, old.job.id);
    expect(next.fence).toBeGreaterThan(old.fence);
    expect(await hands.settle(old)).toBe(false);
    expect(await hands.state(old.job.id)).toBe("running");
    expect(await hands.settle(next)).toBe(true);
  });

  it("is settled once: the second time changes nothing", async () => {
    await using place = new Place(on);
    const hands = await place.hands();
    await hands.add({ project: "alpha" });
    const [run] = await hands.turn();
    if (run === undefined) throw new Error("not started");
    expect([await hands.settle(run), await hands.settle(run)]).toEqual([true, false]);
    expect(await hands.rows("SELECT running FROM job_gates WHERE name = 'global'")).toEqual([{ running: 0 }]);
  });

  it("STALE-1: its owner counts as an active job while the slot is not over", async () => {
    await using place = new Place(on, { k: "dal" });
    const [hands, agent] = [await place.hands(), await place.holdfast("agent:a")];
    const { id } = await hands.add({ project: "alpha" });
    const [run] = await hands.turn({ leaseMs: 3_600_000 });
    if (run === undefined) throw new Error("not started");
    const job = await place.holdfast(`job:${id}`);
    await job.acquire("k", { detached: true, ttl: "1s" });
    const isOver = async (): Promise<boolean> => {
      const [lock] = await agent.list();
      return Date.parse(lock?.lease_expires_at ?? "") < Date.now() - 100;
    };
    await expect.poll(isOver, { timeout: 240_000 }).toBe(true);
    await expect(agent.acquire("k", { wait: 0 })).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
    await hands.lapse(run);
    await agent.acquire("k", { wait: 0 });
  });
});

describe.each(STORES)("JOB-1: jobs whose time has come, on %s", (on) => {
  it("are called by the hundred, so that another project's is not kept waiting", async () => {
    await using place = new Place(on);
    const hands = await place.hands();
    await hands.addMany(120, { project: "many", delay: "1h" });
    const one = await hands.add({ project: "one", delay: "2h" });
    await hands.later();
    const runs = await hands.turn({ room: 2 });
    expect(runs.map(({ job }) => job.id)).toContain(one.id);
  });

  it("of a unique key that another has meanwhile are not tried again beside it", async () => {
    await using place = new Place(on);
    const hands = await place.hands();
    const first = await hands.add({ project: "alpha", unique: "u" });
    await hands.cancel(first.id);
    await hands.add({ project: "alpha", unique: "u" });
    await expect(hands.retry(first.id)).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
  });
});
