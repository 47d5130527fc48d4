import { describe, expect, it } from "vitest";
import { HAS_ENDED } from "../../../src/lock/job-time.js";
import { Place, STORES } from "../../fixtures/jobs/jobs.fixture.js";
import type { Hands } from "../../fixtures/jobs/scheduler-steps.fixture.js";

const P = { project: "alpha" };
const K = { resource: "named:m1", mode: "write" } as const;
const OTHER = { resource: "named:m2", mode: "write" } as const;
/** One whose locks are a function of this text. */
const calling = (worker: string, print: string) => ({ worker, definitions: { k: { locks: print } } });
const locking = (worker: string, ...locks: (typeof K | typeof OTHER)[]) => ({ worker, definitions: { k: { locks } } });

/** As if the lease of this worker had run out. */
async function lapse(hands: Hands, worker: string): Promise<void> {
  await hands.rows("UPDATE job_workers SET until_ms = 0 WHERE worker = ?1", worker);
}

/** As if it were later: a job that asks looks again. */
async function lookAgain(hands: Hands): Promise<void> {
  await hands.rows("UPDATE jobs SET ask_at = 0 WHERE asked_of IS NOT NULL");
}

async function askedOf(hands: Hands, id: number): Promise<string | null | undefined> {
  return (await hands.rows<{ asked_of: string | null }>("SELECT asked_of FROM jobs WHERE job = ?1", id))[0]?.asked_of;
}

describe.each(STORES)("a kind's rules, on %s", (on) => {
  // kills: others-function
  it("wait for the function of another worker, and count without it when that worker is gone", async () => {
    await using place = new Place(on);
    const hands = await place.hands();
    await hands.turn(calling("a", "text a"));
    const { id } = await hands.add(P);
    expect(await hands.turn(locking("b"))).toEqual([]);
    expect(await askedOf(hands, id)).toBe("text a");
    await lookAgain(hands);
    expect(await hands.turn(locking("b"))).toEqual([]);
    await lapse(hands, "a");
    await lookAgain(hands);
    expect(await hands.turn(locking("b"))).toMatchObject([{ job: { id, locks: [], error: null } }]);
    expect(await askedOf(hands, id)).toBe(null);
  });

  it("take an answer no longer into account when its worker was killed before the start", async () => {
    await using place = new Place(on);
    const hands = await place.hands();
    const { id } = await hands.add(P);
    const { runs, asked } = await hands.takeTurn(calling("a", "text a"));
    expect({ runs, asked }).toMatchObject({ runs: [], asked: [{ job: id, kind: "k", payload: "null" }] });
    await hands.turn({
      ...calling("a", "text a"),
      room: 0,
      given: [{ job: id, print: "text a", outcome: { locks: [K] } }],
    });
    expect(await hands.state(id)).toBe("ready");
    await lapse(hands, "a");
    expect(await hands.turn(locking("b"))).toMatchObject([{ job: { id, locks: [] } }]);
  });

  it("start a job in the turn that brings the answer", async () => {
    await using place = new Place(on);
    const hands = await place.hands();
    const { id } = await hands.add({ ...P, locks: [OTHER] });
    await hands.turn(calling("a", "text a"));
    const given = [{ job: id, print: "text a", outcome: { locks: [K] } }];
    expect(await hands.turn({ ...calling("a", "text a"), given })).toMatchObject([{ job: { id, locks: [OTHER, K] } }]);
    expect(await hands.locks({ ofJobs: true })).toHaveLength(2);
  });

  // kills: own-function
  it("need the answer of the worker that starts, also when another has a function of the same text", async () => {
    await using place = new Place(on);
    const hands = await place.hands();
    const { id } = await hands.add(P);
    await hands.turn(calling("a", "text"));
    await hands.turn({
      ...calling("a", "text"),
      room: 0,
      given: [{ job: id, print: "text", outcome: { locks: [K] } }],
    });
    const { runs, asked } = await hands.takeTurn(calling("b", "text"));
    expect({ runs, asked }).toMatchObject({ runs: [], asked: [{ job: id }] });
    const given = [{ job: id, print: "text", outcome: { locks: [OTHER] } }];
    expect(await hands.turn({ ...calling("b", "text"), given })).toMatchObject([{ job: { id, locks: [K, OTHER] } }]);
  });

  it("ask anew when a function was changed in between", async () => {
    await using place = new Place(on);
    const hands = await place.hands();
    const { id } = await hands.add(P);
    await hands.turn(calling("a", "old"));
    const given = [{ job: id, print: "old", outcome: { locks: [K] } }];
    expect(await hands.turn({ ...calling("a", "new"), given })).toEqual([]);
    await lookAgain(hands);
    expect((await hands.takeTurn(calling("a", "new"))).asked).toMatchObject([{ job: id }]);
  });

  // kills: kinds-of-a-run, kind-locks-sql
  it("hold as long as a run of their worker has its slot, whatever became of the worker", async () => {
    await using place = new Place(on);
    const hands = await place.hands();
    const [first, second] = [await hands.add(P), await hands.add(P)];
    const [run] = await hands.turn(locking("a", K));
    expect(run?.job).toMatchObject({ id: first.id, locks: [K] });
    await lapse(hands, "a");
    expect(await hands.turn(locking("b", OTHER))).toEqual([]);
    expect(await hands.rows("SELECT wait_key FROM jobs WHERE job = ?1", second.id)).toEqual([{ wait_key: K.resource }]);
    if (run !== undefined) await hands.settle(run);
    await hands.later();
    expect(await hands.turn(locking("b", OTHER))).toMatchObject([{ job: { id: second.id, locks: [OTHER] } }]);
  });

  it("change the line that a waiting job stands in", async () => {
    await using place = new Place(on);
    const [hands, agent] = [await place.hands(), await place.holdfast("agent:a")];
    await agent.acquire(K.resource);
    const { id } = await hands.add(P);
    await hands.turn(locking("a", K));
    expect(await hands.tickets()).toBe(1);
    await hands.later();
    expect(await hands.turn(locking("a", OTHER))).toMatchObject([{ job: { id, locks: [OTHER] } }]);
    expect(await hands.tickets()).toBe(0);
  });

  // kills: kind-attempts (sqlite), kind-timeout (sqlite), kind-attempts-sql (postgres)
  it("limit attempts and time, and no longer once they are relaxed", async () => {
    await using place = new Place(on);
    const hands = await place.hands();
    const { id } = await hands.add({ ...P, timeout: "10m" });
    const strict = { definitions: { k: { attempts: 1, timeout_ms: 1_000 } } };
    const [run] = await hands.turn(strict);
    expect(run?.job).toMatchObject({ max_attempts: 1, timeout_ms: 1_000 });
    if (run !== undefined) await hands.settle(run, { kind: "failed", error: { code: "failed", message: "no" } });
    expect(await hands.state(id)).toBe("failed");
    await hands.retry(id);
    const [again] = await hands.turn({ definitions: { k: { attempts: 5, timeout_ms: 3_600_000 } } });
    expect(again?.job).toMatchObject({ id, max_attempts: 3, timeout_ms: 600_000 });
  });

  it("unite locks of one key, and of keys that lie in each other", async () => {
    await using place = new Place(on);
    const hands = await place.hands();
    await hands.add({ ...P, locks: [{ resource: "project:alpha", mode: "read" }] });
    const locks = [
      { resource: "project:alpha/map:m1", mode: "write" },
      { resource: "project:alpha", mode: "write" },
    ] as const;
    const [run] = await hands.turn({ definitions: { k: { locks } } });
    expect(run?.job.locks).toEqual([
      { resource: "project:alpha", mode: "write" },
      { resource: "project:alpha/map:m1", mode: "write" },
    ]);
    expect(await hands.locks({ ofJobs: true })).toEqual(await hands.locksOfSlots());
  });

  // kills: kind-class
  it("move a job without a class, and one that waits for a lock, under the cap of the kind's class", async () => {
    await using place = new Place(on);
    const [hands, agent] = [await place.hands(), await place.holdfast("agent:a")];
    await agent.acquire(K.resource);
    const [waiting, plain] = [await hands.add({ ...P, locks: [K] }), await hands.add(P)];
    await hands.turn({ room: 0 });
    await hands.setCaps({ maxCpuJobs: 0 });
    expect(await hands.turn({ room: 2 })).toMatchObject([{ job: { id: plain.id, class: "io" } }]);
    expect(await hands.tickets()).toBe(1);
    const later = await hands.add(P);
    await hands.later();
    const ofCpu = { room: 2, definitions: { k: { class: "cpu" } } } as const;
    expect(await hands.turn(ofCpu)).toEqual([]);
    expect(await hands.tickets()).toBe(0);
    await hands.setCaps({ maxCpuJobs: 1 });
    await agent.close();
    expect(await hands.turn(ofCpu)).toHaveLength(1);
    const classes = await hands.rows("SELECT class FROM jobs WHERE job IN (?1, ?2)", waiting.id, later.id);
    expect(classes).toEqual([{ class: "cpu" }, { class: "cpu" }]);
  });

  it("hold for kinds of any name", async () => {
    await using place = new Place(on);
    const hands = await place.hands();
    const definitions = Object.fromEntries([["__proto__", { locks: [K] }]]);
    await hands.turn({ worker: "a", definitions });
    await hands.turn({ worker: "b", definitions: { constructor: { locks: [OTHER] } } });
    await hands.add(P, "constructor");
    await hands.add(P, "__proto__");
    const has = ["kind:constructor", "kind:__proto__"];
    const runs = await hands.turn({ worker: "c", has, room: 2, definitions: {} });
    expect(runs.map(({ job }) => job.locks)).toEqual([[OTHER], [K]]);
  });

  it("are forgotten with a worker that signs off", async () => {
    await using place = new Place(on);
    const jobs = await place.jobs();
    jobs.define("k", { locks: [K], attempts: 1 }, () => undefined);
    const worker = place.work(jobs);
    const hands = await place.hands();
    const inForce = () => hands.rows("SELECT definitions, max_attempts, has_locks FROM job_kinds WHERE kind = 'k'");
    await expect.poll(inForce, { timeout: 60_000 }).toMatchObject([{ max_attempts: 1, has_locks: 1 }]);
    await worker.stop();
    expect(await inForce()).toEqual([{ definitions: null, max_attempts: null, has_locks: 0 }]);
    expect(await hands.rows(`SELECT worker FROM job_workers WHERE ${HAS_ENDED} OR ?1 = ?1`, "", 0, 0)).toEqual([]);
  });
});
