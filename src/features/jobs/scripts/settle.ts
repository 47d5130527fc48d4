/** Keeps the runs of a worker by heartbeats, and settles those that are over. */

import { isHoldfastError } from "../../../base/errors.js";
import type { Party, Script, Sql } from "../../../client/kernel.js";
import { express, one, releaseLocks, rows, tell, time } from "./query.js";
import { quickRound, type Told } from "./short-round.js";
import { type Ending, endRun, locksOf, OF_THIS_RUN, type Slot } from "./state/slots.js";

interface RunRef {
  readonly job: number;
  readonly fence: number;
}

/** With `body`, rows of the caller's own are written in the same step. */
export interface Settlement extends RunRef {
  readonly ending: Ending;
  readonly body?: (sql: Sql) => unknown;
}

/**
 * Ends a run with its outcome, its locks checked in the same step: one that was lost rolls everything back, with its
 * error. False when the run was presumed dead and its slot given on: nothing changes, and that is on record.
 */
export function* settle({ job, fence, ending, body }: Settlement, party: Party): Script<boolean> {
  const slot = yield* one<Slot>(`SELECT * FROM job_slots WHERE ${OF_THIS_RUN}`, job, fence);
  if (slot === undefined) {
    yield* tell(party, job, fence, { change: "came too late", ending: ending.kind });
    return false;
  }
  // mutant: job-locks-at-settle: if (ending.kind === "done") yield { ask: "check", locks: locksOf(slot) }; →
  if (ending.kind === "done") yield { ask: "check", locks: locksOf(slot) };
  if (body !== undefined) yield { ask: "caller", body };
  return yield* endRun(job, fence, ending, party);
}

/** Several at once, without rows of the caller's own. One whose locks were lost takes all of them back, with its error. */
export function* settleAll(settlements: readonly Settlement[], party: Party): Script<boolean[]> {
  return yield* settleRest(settlements, (yield* quickRound(settlements, null, party))?.answers, party);
}

/** What the quick way, where there is one, has left to do. */
export function* settleRest(
  settlements: readonly Settlement[],
  told: readonly Told[] | undefined,
  party: Party,
): Script<boolean[]> {
  const settled: boolean[] = [];
  for (const [at, each] of settlements.entries()) {
    const how = told?.[at] ?? "locks";
    settled.push(how === "locks" ? yield* settle(each, party) : how === "settled");
  }
  return settled;
}

/** Gives the locks of a run back before it is over. False when the slot is not this run's (any more). */
export function* letGo({ job, fence }: RunRef, party: Party): Script<boolean> {
  const slot = yield* one<Slot>(`SELECT * FROM job_slots WHERE ${OF_THIS_RUN}`, job, fence);
  if (slot === undefined) return false;
  yield* releaseLocks(locksOf(slot), party);
  yield* rows(`UPDATE job_slots SET grants = '[]' WHERE ${OF_THIS_RUN}`, job, fence);
  return true;
}

export interface Beat extends RunRef {
  /** As JSON. */
  readonly progress?: string;
}

/** What became of a run: still ours, to be cancelled, or lost. */
export type Pulse = "kept" | "cancelling" | "lost";

/** Extends slots and locks of all these runs. A run that lost its slot or a lock is told so. */
export function* beat(beats: readonly Beat[]): Script<Pulse[]> {
  const now = yield* time();
  const told = yield* express<(Pulse | "locks")[]>("job_beat", {
    jobs: beats.map(({ job }) => job),
    fences: beats.map(({ fence }) => fence),
    progress: beats.map(({ progress }) => progress ?? null),
    now: now.ms,
  });
  const pulses: Pulse[] = [];
  for (const [at, each] of beats.entries()) {
    const pulse = told?.[at] ?? "locks";
    pulses.push(pulse === "locks" ? yield* beatOne(each, now.ms, now.epoch) : pulse);
  }
  return pulses;
}

function* beatOne({ job, fence, progress }: Beat, ms: number, epoch: string): Script<Pulse> {
  const slot = yield* one<Slot>(`SELECT * FROM job_slots WHERE ${OF_THIS_RUN}`, job, fence);
  if (slot === undefined || slot.epoch !== epoch || slot.until_ms < ms) return "lost";
  try {
    if (slot.grants !== "[]") yield { ask: "renew", locks: locksOf(slot) };
  } catch (error) {
    if (isHoldfastError(error)) return "lost";
    throw error;
  }
  yield* rows("UPDATE job_slots SET until_ms = ?1 WHERE job = ?2", ms + slot.lease_ms, job);
  if (progress !== undefined) yield* rows("UPDATE jobs SET progress = ?1 WHERE job = ?2", progress, job);
  const row = yield* one<{ cancelling: number }>("SELECT cancelling FROM jobs WHERE job = ?1", job);
  return row?.cancelling === 1 ? "cancelling" : "kept";
}
