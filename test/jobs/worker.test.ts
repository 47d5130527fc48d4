import { describe, expect, it } from "vitest";
import { openJobs } from "../../src/jobs/jobs.js";
import { Settler } from "../../src/jobs/settler.js";
import type { Scripts } from "../../src/store/contract.js";
import { HoldfastError } from "../../src/support/errors.js";
import { Place, STORES } from "./place.js";

const WAIT = { timeoutMs: 240_000 };
const P = { project: "alpha" };

/** The same store, that fails while it is told to. */
async function shaky(place: Place) {
  const holdfast = await place.holdfast();
  const { home } = holdfast;
  const { scripts } = home.store;
  if (scripts === null) throw new RangeError("no jobs");
  const trouble = { isOn: false, refusals: 0 };
  const failing: Scripts = {
    run: async (script, options) => {
      if (trouble.isOn) {
        trouble.refusals += 1;
        throw new HoldfastError("E_STORE_UNAVAILABLE", "not now");
      }
      return scripts.run(script, options);
    },
    look: (script) => scripts.look(script),
    listen: (onWake) => scripts.listen(onWake),
  };
  const store = Object.create(home.store, { scripts: { value: failing } });
  const jobs = openJobs(Object.create(holdfast, { home: { value: { ...home, store } } }));
  return { jobs, trouble };
}

describe.each(STORES)("JOB-5: settlements that come together, on %s", (on) => {
  it("do not suffer for one that is refused", async () => {
    await using place = new Place(on);
    const [hands, admin, holdfast] = [await place.hands(), await place.holdfast("admin:a"), await place.holdfast()];
    const { store, party } = holdfast.home;
    if (store.scripts === null) throw new RangeError("no jobs");
    await hands.add({ ...P, locks: [{ resource: "k", mode: "write" }] });
    await hands.add(P);
    await hands.add(P);
    const runs = await hands.turn({ room: 3 });
    await admin.break("k", { reason: "test" });
    const settler = new Settler(store.scripts, party);
    const ending = { kind: "done", result: null } as const;
    const all = runs.map(({ job, fence }) => settler.settle({ job: job.id, fence, ending }));
    const [refused, ...others] = await Promise.allSettled(all);
    expect(refused).toMatchObject({ status: "rejected", reason: { code: "E_LOCK_NOT_HELD" } });
    expect(others).toMatchObject([{ value: true }, { value: true }]);
    const states = await hands.rows<{ state: string }>("SELECT state FROM jobs ORDER BY job");
    expect(states.map(({ state }) => state)).toEqual(["running", "done", "done"]);
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

  it("settles a run as done although the store was away for a while", async () => {
    await using place = new Place(on);
    const { jobs, trouble } = await shaky(place);
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

  it("hands back what runs when it is stopped, and the attempt does not count", async () => {
    await using place = new Place(on);
    const jobs = await place.jobs();
    const { id } = await jobs.enqueue("sh", null, { ...P, command: ["sh", "-c", "trap '' TERM; echo up; sleep 600"] });
    const worker = place.work(jobs, { commands: true });
    await expect.poll(async () => (await jobs.get(id)).state, { timeout: 240_000 }).toBe("running");
    await worker.stop({ grace: 10 });
    expect(await jobs.get(id)).toMatchObject({ state: "ready", attempts: 0, worker: null });
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
