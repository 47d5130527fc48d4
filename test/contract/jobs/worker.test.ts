import { existsSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { HoldfastError } from "../../../src/base/errors.js";
import { kernelOf, type Scripts } from "../../../src/client/kernel.js";
import { openJobs } from "../../../src/features/jobs/jobs.js";
import type { JobRun } from "../../../src/features/jobs/model.js";
import { settleAll } from "../../../src/features/jobs/scripts/settle.js";
import type { Turn } from "../../../src/features/jobs/scripts/turn.js";
import { Settler } from "../../../src/features/jobs/settler.js";
import { newLeaseToken } from "../../../src/lock/lease-token.js";
import { Place, STORES } from "../../fixtures/jobs/jobs.fixture.js";

const WAIT = { timeoutMs: 240_000 };
const P = { project: "alpha" };

/** The same store, that fails while it is told to. */
async function shaky(place: Place, code: "E_STORE_UNAVAILABLE" | "E_IO" = "E_STORE_UNAVAILABLE") {
  const holdfast = await place.holdfast();
  const kernel = kernelOf(holdfast);
  const { scripts } = kernel;
  if (scripts === null) throw new RangeError("no jobs");
  const trouble = { isOn: false, refusals: 0, code };
  const failing: Scripts = {
    run: async (script, options) => {
      if (trouble.isOn) {
        trouble.refusals += 1;
        throw HoldfastError.again({ code: trouble.code, message: "not now", details: { reason: "unreachable" } });
      }
      return scripts.run(script, options);
    },
    look: (script) => scripts.look(script),
    listen: (onWake) => scripts.listen(onWake),
  };
  const jobs = openJobs(Object.create(holdfast, { kernel: { value: { ...kernel, scripts: failing } } }));
  return { jobs, trouble };
}

describe.each(STORES)("JOB-5: settlements that come together, on %s", (on) => {
  it("do not suffer for one that is refused", async () => {
    await using place = new Place(on);
    const [hands, admin, holdfast] = [await place.hands(), await place.holdfast("admin:a"), await place.holdfast()];
    const { scripts, requester: party } = kernelOf(holdfast);
    if (scripts === null) throw new RangeError("no jobs");
    await hands.add({ ...P, locks: [{ resource: "k", mode: "write" }] });
    await hands.add(P);
    await hands.add(P);
    const runs = await hands.turn({ room: 3 });
    await admin.break("k", { reason: "test" });
    const settler = new Settler(scripts, party);
    const ending = { kind: "done", result: null } as const;
    const all = runs.map(({ job, fence }) => settler.settle({ job: job.id, fence, ending }));
    const [refused, ...others] = await Promise.allSettled(all);
    expect(refused).toMatchObject({ status: "rejected", reason: { code: "E_LOCK_NOT_HELD" } });
    expect(others).toMatchObject([{ value: true }, { value: true }]);
    const states = await hands.rows<{ state: string }>("SELECT state FROM jobs ORDER BY job");
    expect(states.map(({ state }) => state)).toEqual(["running", "done", "done"]);
  });

  it("settle one run once, also when it is asked for twice in one step", async () => {
    await using place = new Place(on);
    const hands = await place.hands();
    const { id } = await hands.add(P);
    const [run] = await hands.turn();
    const again = { job: id, fence: run?.fence ?? 0, ending: { kind: "done", result: null } } as const;
    const { requester: party } = kernelOf(await place.holdfast());
    expect(await hands.run(() => settleAll([again, again], party))).toEqual([true, false]);
    const changes = (await hands.entries(id)).map(({ change }) => change);
    expect(changes).toEqual(["added", "started", "done", "came too late"]);
    expect(await hands.rows("SELECT running FROM job_gates WHERE name = 'global'")).toEqual([{ running: 0 }]);
  });

  it("take a turn along in the same step, or none when one of them is refused", async () => {
    await using place = new Place(on);
    const [hands, admin, holdfast] = [await place.hands(), await place.holdfast("admin:a"), await place.holdfast()];
    const { scripts, requester: party } = kernelOf(holdfast);
    if (scripts === null) throw new RangeError("no jobs");
    await hands.add(P);
    await hands.add({ ...P, locks: [{ resource: "k", mode: "write" }] });
    const [plain, locked] = await hands.turn({ room: 2 });
    await hands.add(P);
    await hands.add(P);
    if (plain === undefined || locked === undefined) throw new RangeError("not begun");
    const of = { worker: "w", node: "n", has: ["kind:k"], concurrency: 9, room: 1, leaseMs: 30_000, inHand: [], party };
    const taken: (Turn | null)[] = [];
    const settler = new Settler(scripts, party, {
      next: () => ({ turn: { ...of, newToken: newLeaseToken }, over: (each) => taken.push(each) }),
      missed: () => undefined,
    });
    const settle = ({ job, fence }: JobRun) =>
      settler.settle({ job: job.id, fence, ending: { kind: "done", result: null } });
    expect(await settle(plain)).toBe(true);
    expect(taken).toMatchObject([{ runs: [{ job: { id: 3 } }] }]);
    await admin.break("k", { reason: "test" });
    await expect(settle(locked)).rejects.toMatchObject({ code: "E_LOCK_NOT_HELD" });
    expect(taken[1]).toBe(null);
    expect(await hands.state(4)).toBe("ready");
  });

  it("of a worker that has its hands full are the step in which it begins the next", async () => {
    await using place = new Place(on);
    const holdfast = await place.holdfast();
    const kernel = kernelOf(holdfast);
    const { scripts } = kernel;
    if (scripts === null) throw new RangeError("no jobs");
    let rides = 0;
    const counting: Scripts = {
      run: async (script, options) => {
        const result = await scripts.run(script, options);
        if (Object(result).taken?.runs.length > 0) rides += 1;
        return result;
      },
      look: (script) => scripts.look(script),
      listen: (onWake) => scripts.listen(onWake),
    };
    const jobs = openJobs(Object.create(holdfast, { kernel: { value: { ...kernel, scripts: counting } } }));
    const hands = await place.hands();
    await hands.addMany(40, P);
    let [running, most] = [0, 0];
    jobs.define("k", {}, async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise(setImmediate);
      running -= 1;
    });
    const worker = place.work(jobs, { concurrency: 4 });
    const isLeft = () => hands.rows("SELECT 1 FROM jobs WHERE state <> 'done' LIMIT 1");
    await expect.poll(isLeft, { timeout: 240_000 }).toEqual([]);
    await worker.stop();
    expect(most).toBe(4);
    expect(rides).toBeGreaterThan(0);
  });
});

describe.each(STORES)("JOB-2: a worker with more room than a cap leaves it, on %s", (on) => {
  it("begins the next with the end of one, however seldom it looks", async () => {
    await using place = new Place(on);
    const [jobs, hands] = [await place.jobs(), await place.hands()];
    await jobs.setCaps({ maxGlobalJobs: 1 });
    await hands.addMany(6, P);
    jobs.define("k", {}, (job, { onSettle }) => {
      if (job.id % 2 === 0) onSettle(() => undefined);
    });
    place.work(jobs, { concurrency: 4, poll: "60s", lease: "1h" });
    const isLeft = () => hands.rows("SELECT 1 FROM jobs WHERE state <> 'done' LIMIT 1");
    await expect.poll(isLeft, { timeout: 240_000 }).toEqual([]);
  });
});

describe.each(STORES)("JOB-6: a worker, on %s", (on) => {
  it("ends its runs by itself when no beat got through for a lease", async () => {
    await using place = new Place(on);
    const { jobs, trouble } = await shaky(place);
    const reasons: unknown[] = [];
    jobs.define("hang", { attempts: 1 }, (_, { signal }) => {
      trouble.isOn = true;
      return new Promise((_resolve, reject) =>
        signal.addEventListener("abort", () => {
          reasons.push(signal.reason);
          reject(signal.reason);
        }),
      );
    });
    await jobs.enqueue("hang", null, P);
    const errors: unknown[] = [];
    place.work(jobs, { lease: "1s", onError: (error) => errors.push(error) });
    await expect.poll(() => reasons, { timeout: 240_000 }).toMatchObject([{ code: "E_LOCK_NOT_HELD" }]);
    await expect.poll(() => errors, { timeout: 240_000 }).not.toEqual([]);
    trouble.isOn = false;
  });

  it("that stood still takes a command that ended meanwhile for what it is, though its time and lease are over", async () => {
    await using place = new Place(on);
    const jobs = await place.jobs();
    const [begun, go] = [join(place.dir, "begun"), join(place.dir, "go")];
    const { id } = await jobs.enqueue("sh", null, {
      ...P,
      attempts: 1,
      timeout: "2s",
      command: ["sh", "-c", `touch ${begun}; while [ ! -e ${go} ]; do sleep 0.01; done`],
    });
    place.work(jobs, { lease: "2s", commands: true });
    await expect.poll(() => existsSync(begun), { timeout: 240_000 }).toBe(true);
    // From here timers come before the news of children.
    await new Promise(setImmediate);
    writeFileSync(go, "");
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_000);
    expect(await jobs.wait(id, WAIT)).toMatchObject({ state: "done", attempts: 1 });
  });

  // kills: job-settle-full-disk (the store was full)
  it.each([
    ["away", "E_STORE_UNAVAILABLE"],
    ["full", "E_IO"],
  ] as const)("settles a run as done although the store was %s for a while", async (_, code) => {
    await using place = new Place(on);
    const { jobs, trouble } = await shaky(place, code);
    jobs.define("work", { attempts: 1 }, () => {
      trouble.isOn = true;
      return "worked";
    });
    const { id } = await jobs.enqueue("work", null, P);
    place.work(jobs);
    await expect.poll(() => trouble.refusals, { timeout: 240_000 }).toBeGreaterThan(1);
    trouble.isOn = false;
    expect(await jobs.wait(id, WAIT)).toMatchObject({ state: "done", result: "worked" });
  });

  it("tries again to begin when the store was away at first, and knows kinds that are defined later", async () => {
    await using place = new Place(on);
    const { jobs, trouble } = await shaky(place);
    const { id } = await jobs.enqueue("late", null, P);
    trouble.isOn = true;
    const errors: unknown[] = [];
    place.work(jobs, { onError: (error) => errors.push(error) });
    await expect.poll(() => errors.length, { timeout: 240_000 }).toBeGreaterThan(0);
    trouble.isOn = false;
    jobs.define("late", {}, () => "ran");
    expect((await jobs.wait(id, WAIT)).result).toBe("ran");
  });

  it("is not brought down by progress or a result that is no JSON", async () => {
    await using place = new Place(on);
    const jobs = await place.jobs();
    jobs.define("odd", { attempts: 1 }, (job, { progress }) => (job.payload === "progress" ? progress(1n) : 1n));
    const odd = await Promise.all(["progress", "result"].map((which) => jobs.enqueue("odd", which, P)));
    place.work(jobs);
    for (const { id } of odd)
      expect(await jobs.wait(id, WAIT)).toMatchObject({ state: "failed", error: { code: "E_INVALID_ARGUMENT" } });
  });

  if (on === "sqlite")
    it("writes progress with one beat, not with all that follow", async () => {
      await using place = new Place(on);
      const [jobs, hands] = [await place.jobs(), await place.hands()];
      jobs.define("long", {}, (_, { progress, signal }) => {
        progress(1);
        return new Promise((_resolve, reject) => signal.addEventListener("abort", reject));
      });
      const { id } = await jobs.enqueue("long", null, P);
      place.work(jobs, { lease: "1s" });
      await expect.poll(async () => (await jobs.get(id)).progress, { timeout: 240_000 }).toBe(1);
      await hands.rows("UPDATE jobs SET progress = '2'");
      const end = async () =>
        (await hands.rows<{ until_ms: number }>("SELECT until_ms FROM job_slots"))[0]?.until_ms ?? 0;
      const before = await end();
      await expect.poll(end, { timeout: 240_000 }).toBeGreaterThan(before + 300);
      expect((await jobs.get(id)).progress).toBe(2);
    });

  it("keeps of an error what people can read, however long it is", async () => {
    await using place = new Place(on);
    const jobs = await place.jobs();
    jobs.define("wordy", { attempts: 1 }, () => Promise.reject(new Error("so ".repeat(1e6))));
    place.work(jobs);
    const { id } = await jobs.enqueue("wordy", null, P);
    expect((await jobs.wait(id, WAIT)).error?.message).toHaveLength(16_384);
  });

  it("hands back what runs when it is stopped, and the attempt does not count", async () => {
    await using place = new Place(on);
    const jobs = await place.jobs();
    const { id } = await jobs.enqueue("sh", null, { ...P, command: ["sh", "-c", "trap '' TERM; echo up; sleep 600"] });
    const worker = place.work(jobs, { commands: true });
    await expect.poll(async () => (await jobs.get(id)).state, { timeout: 240_000 }).toBe("running");
    await worker.stop({ grace: 10 });
    expect(await jobs.get(id)).toMatchObject({ state: "ready", attempts: 0, worker: null });
  });

  it("stops in the middle of a pause, and leaves nothing behind with each", async () => {
    await using place = new Place(on);
    const combined = vi.spyOn(AbortSignal, "any");
    const worker = place.work(await place.jobs(), { poll: 60_000 });
    await new Promise((resolve) => setTimeout(resolve, 100));
    await worker.stop();
    expect(combined).not.toHaveBeenCalled();
    combined.mockRestore();
  });

  it("JOB-8: shows what no worker that is there can run", async () => {
    await using place = new Place(on);
    const jobs = await place.jobs();
    jobs.define("reach", {}, () => null);
    const { id } = await jobs.enqueue("reach", null, { ...P, needs: ["fs:projects-a"] });
    expect((await jobs.get(id)).unmet_needs).toEqual(["fs:projects-a", "kind:reach"]);
    const worker = place.work(jobs);
    const other = await jobs.enqueue("reach", null, P);
    await jobs.wait(other.id, WAIT);
    expect((await jobs.get(id)).unmet_needs).toEqual(["fs:projects-a"]);
    expect((await jobs.list({ state: "ready" })).map((job) => job.unmet_needs)).toEqual([["fs:projects-a"]]);
    await worker.stop();
    expect((await jobs.get(id)).unmet_needs).toEqual(["fs:projects-a", "kind:reach"]);
  });

  it("refuses odd arguments before anything is written", async () => {
    await using place = new Place(on);
    const jobs = await place.jobs();
    const k = { resource: "k", mode: "read" } as const;
    const odd: [string, () => unknown][] = [
      ["locks", () => jobs.enqueue("a", null, { ...P, locks: [k, { ...k, mode: "write" }] })],
      ["timeout", () => jobs.enqueue("a", null, { ...P, timeout: "720h" })],
      ["unique", () => jobs.enqueue("a", null, { ...P, unique: "" })],
      ["delay", () => jobs.enqueue("a", null, { ...P, at: new Date(), delay: "1h" })],
      ["payload", () => jobs.enqueue("a", { big: 1n }, P)],
      ["sql", () => jobs.enqueueIn({ answersAtOnce: true } as never, "a", null, P)],
      ["weight", () => jobs.setProject("p", { weight: 0 })],
      ["cap", () => jobs.setProject("p", { cap: -1 })],
      ["maxJobs", () => jobs.setCaps({ maxJobs: 1 } as never)],
      ["state", () => jobs.list({ state: "odd" as never })],
      ["limit", () => jobs.list({ limit: -1 })],
    ];
    for (const [field, call] of odd)
      await expect(async () => call(), field).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT", details: { field } });
    expect(await jobs.list()).toEqual([]);
  });
});

describe("a worker whose store is lost", () => {
  // kills: job-store-lost
  it("ends its runs at once, with the reason", async () => {
    await using place = new Place("sqlite");
    const jobs = await place.jobs();
    const reasons: unknown[] = [];
    const started = new Promise<void>((begun) => {
      jobs.define("long", {}, (_, { signal }) => {
        begun();
        return new Promise((resolve) => {
          signal.addEventListener("abort", () => resolve(reasons.push(signal.reason)), { once: true });
        });
      });
    });
    // Two beats are further apart than the loss may take to be noticed.
    place.work(jobs, { lease: "10m", onError: () => undefined });
    await jobs.enqueue("long", null, P);
    await started;
    const path = (await place.store()).slice("sqlite:".length);
    renameSync(path, `${path}.away`);
    await vi.waitFor(() => expect(reasons).toMatchObject([{ code: "E_STORE_CORRUPT", details: { lost: "missing" } }]), {
      timeout: 5_000,
    });
    renameSync(`${path}.away`, path);
  });
});
