import fc from "fast-check";
import { expect } from "vitest";
import type { JobRun } from "../../src/jobs/model.js";
import { COUNTERS, FORGOTTEN, STATELESS } from "../fixtures/job-invariants.mjs";
import type { Hands } from "./hands.js";
import { Place, type StoreKind } from "./place.js";

/**
 * Random histories of two or three workers over all steps. A crash is a run that nobody settles or beats for: its lease
 * runs out at some later step. After every step everything that is counted is counted anew from the slots.
 */
type Move =
  | {
      readonly do: "add";
      readonly project: number;
      readonly map: boolean;
      readonly cpu: boolean;
      readonly lock: number;
    }
  | { readonly do: "turn"; readonly room: number; readonly knows: number }
  | { readonly do: "settle" | "settle again" | "lapse" | "beat"; readonly which: number; readonly how: number }
  | { readonly do: "round"; readonly which: number; readonly how: number; readonly room: number }
  | { readonly do: "cancel" | "retry"; readonly which: number }
  | { readonly do: "cap"; readonly which: number; readonly cap: number | null }
  | { readonly do: "later" };

const small = fc.nat({ max: 3 });
const moves: fc.Arbitrary<Move> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("add" as const),
      project: small,
      map: fc.boolean(),
      cpu: fc.boolean(),
      lock: fc.nat({ max: 5 }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant("turn" as const), room: small, knows: fc.nat({ max: 2 }) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom("settle" as const, "settle again" as const, "lapse" as const, "beat" as const),
      which: fc.nat({ max: 20 }),
      how: small,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("round" as const), which: fc.nat({ max: 20 }), how: small, room: small }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constantFrom("cancel" as const, "retry" as const), which: fc.nat({ max: 20 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("cap" as const),
      which: fc.nat({ max: 6 }),
      cap: fc.option(fc.nat({ max: 3 })),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ do: "later" as const }) },
);

const KEYS = ["k", "k/a", "l", "l/b"] as const;
const HAS = [["kind:k"], ["kind:other"], ["kind:k", "kind:other"]] as const;
const ENDINGS = [
  { kind: "done", result: null },
  { kind: "failed", error: { code: "x", message: "x" } },
  { kind: "handed back" },
  { kind: "cancelled" },
] as const;
const CAPS = [
  "maxGlobalJobs",
  "maxJobsPerProject",
  "maxConcurrentMapJobsPerProject",
  "maxCpuJobs",
  "maxIoJobs",
] as const;

class History {
  readonly #hands: Hands;
  readonly #runs: JobRun[] = [];
  readonly #settled = new Set<number>();

  constructor(hands: Hands) {
    this.#hands = hands;
  }

  async make(move: Move): Promise<void> {
    const hands = this.#hands;
    switch (move.do) {
      case "add": {
        const key = KEYS[move.lock];
        const locks = key === undefined ? [] : [{ resource: key, mode: move.cpu ? "read" : "write" } as const];
        const base = { project: `p${move.project}`, class: move.cpu ? "cpu" : "io", attempts: 2, locks } as const;
        await hands.add({ ...base, ...(move.map ? { map: "m" } : {}) }, move.project === 3 ? "other" : "k");
        return;
      }
      case "turn": {
        const before = await running(hands);
        const has = HAS[move.knows] ?? [];
        const runs = await hands.turn({ room: move.room, has, worker: `w${move.knows}` });
        for (const { job } of runs) expect(job.needs.every((need) => has.some((label) => label === need))).toBe(true);
        this.#runs.push(...runs);
        if (runs.length > 0) await noCapExceeded(hands, before);
        return;
      }
      case "settle":
      case "settle again": {
        const run = this.#run(move);
        if (run === undefined) return;
        const isCurrent = (await hands.rows("SELECT 1 FROM job_slots WHERE fence = ?1", run.fence)).length > 0;
        const isSettled = await hands.settle(run, ENDINGS[move.how]).catch(() => "lock lost" as const);
        if (isSettled === true) {
          expect(isCurrent, "a run settles its own slot").toBe(true);
          this.#settles(run.fence);
        }
        if (move.do === "settle again")
          expect(await hands.settle(run, ENDINGS[1]).catch(() => false)).toBe(isSettled === "lock lost");
        return;
      }
      case "round": {
        const settling = this.#runs.slice(move.which % (this.#runs.length + 1)).slice(0, 3);
        const before = await running(hands);
        const of = { room: move.room, has: HAS[2] };
        const done = await hands.round(settling, of, ENDINGS[move.how]).catch(() => null);
        for (const [at, { fence }] of settling.entries()) if (done?.settled[at]) this.#settles(fence);
        this.#runs.push(...(done?.runs ?? []));
        if (done !== null && done.runs.length > 0) await noCapExceeded(hands, before);
        return;
      }
      case "lapse": {
        const run = this.#run(move);
        if (run !== undefined) await hands.lapse(run);
        return;
      }
      case "beat": {
        const run = this.#run(move);
        if (run !== undefined && this.#settled.has(run.fence)) expect(await hands.beat(run)).toEqual(["lost"]);
        return;
      }
      case "cancel":
        await hands.cancel(move.which);
        return;
      case "retry":
        await hands.retry(move.which);
        return;
      case "cap": {
        const cap = CAPS[move.which];
        if (cap !== undefined) await hands.setCaps({ [cap]: move.cap });
        else await hands.setProject("p0", move.which === 5 ? { cap: move.cap } : { mapCap: move.cap });
        return;
      }
      case "later":
        await hands.later();
    }
  }

  #settles(fence: number): void {
    expect(this.#settled.has(fence), "a fence settles once").toBe(false);
    this.#settled.add(fence);
  }

  #run({ which }: { readonly which: number }): JobRun | undefined {
    return this.#runs.length === 0 ? undefined : this.#runs[which % this.#runs.length];
  }
}

interface Counted {
  readonly name: string;
  readonly counted: number;
  readonly actual: number;
  readonly cap: number | null;
}

async function running(hands: Hands): Promise<Map<string, number>> {
  return new Map((await hands.rows<Counted>(COUNTERS)).map(({ name, actual }) => [name, actual]));
}

/** What a start exceeds is what was counted higher by it. */
async function noCapExceeded(hands: Hands, before: ReadonlyMap<string, number>): Promise<void> {
  for (const { name, actual, cap } of await hands.rows<Counted>(COUNTERS))
    if (cap !== null && actual > (before.get(name) ?? 0)) expect(actual, name).toBeLessThanOrEqual(cap);
}

async function holdTrue(hands: Hands): Promise<void> {
  for (const { name, counted, actual } of await hands.rows<Counted>(COUNTERS)) expect(counted, name).toBe(actual);
  expect(await hands.rows(STATELESS), "runs = slots").toEqual([]);
  expect(await hands.rows(FORGOTTEN), "ready jobs in idle flows").toEqual([]);
  expect(await hands.locks({ ofJobs: true }), "locks = those of the slots").toEqual(await hands.locksOfSlots());
}

/** With room everywhere, everything that is left is done in the end: nothing starves, nothing leaks. */
async function drain(hands: Hands): Promise<void> {
  await hands.setCaps(Object.fromEntries(CAPS.map((cap) => [cap, null])));
  await hands.setProject("p0", { cap: null, mapCap: null });
  await hands.rows("UPDATE job_slots SET until_ms = 0");
  const left = (): Promise<unknown[]> =>
    hands.rows("SELECT job, state FROM jobs WHERE state NOT IN ('done', 'failed', 'cancelled')");
  for (let turns = 0; turns < 500 && (await left()).length > 0; turns += 1) {
    await hands.later();
    for (const run of await hands.turn({ room: 100, has: HAS[2] })) await hands.settle(run);
  }
  expect(await left()).toEqual([]);
  for (const { name, counted } of await hands.rows<Counted>(COUNTERS)) expect(counted, name).toBe(0);
  expect(await hands.locks()).toEqual([]);
}

interface Runs {
  readonly numRuns: number;
  readonly seed?: number;
}

/** Fails when after some step of some history something is not as it must be. */
export async function holdsInHistories(on: StoreKind, runs: Runs): Promise<void> {
  await using place = new Place(on);
  await fc.assert(
    fc.asyncProperty(fc.array(moves, { minLength: 10, maxLength: 50, size: "max" }), async (history) => {
      const hands = await place.handsOfNewStore();
      const all = new History(hands);
      for (const move of history) {
        await all.make(move);
        await holdTrue(hands);
      }
      await drain(hands);
    }),
    { ...runs, endOnFailure: true },
  );
}
