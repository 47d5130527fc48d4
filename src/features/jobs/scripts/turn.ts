/**
 * A turn: some housekeeping, then as many starts as the worker has room for. Each start costs the same however many
 * jobs and projects wait: the ready flow with the least served time, its first job, its locks without waiting, a slot.
 *
 * A crash before the commit leaves nothing of a turn. After it, slots without a heartbeat: a later turn takes them
 * back when their lease is over.
 */
import { randomUUID } from "node:crypto";
import { isHoldfastError } from "../../../base/errors.js";
import type { Party, Script, StepTime } from "../../../client/kernel.js";
import { endedBy, HAS_ENDED } from "../../../lock/job-time.js";
import type { JobRun } from "../model.js";
import { type AskedJob, answer, askedOf, type GivenLocks } from "./kind-rules.js";
import { pick } from "./pick.js";
import { releaseLocks, rows, time } from "./query.js";
import { admitAdded, MOST_CALLED, tickDue } from "./schedule.js";
import { type QuickTurn, quickRound } from "./short-round.js";
import { start } from "./start.js";
import { register, type WorkerEntry } from "./state/definitions.js";
import { refresh } from "./state/flows.js";
import { endRun, locksOf, type Slot } from "./state/slots.js";

export interface TurnOf extends WorkerEntry {
  /** How many it can begin now. */
  readonly room: number;
  /** Jobs it has in hand: how those runs end it says itself, late or not. */
  readonly inHand: readonly number[];
  /** Locks that its functions gave for jobs that asked in an earlier turn. */
  readonly given?: readonly GivenLocks[];
  readonly party: Party;
  newToken(): string;
}

export interface Turn {
  readonly runs: readonly JobRun[];
  /** Jobs that ask for the locks that a function of this worker gives. */
  readonly asked: readonly AskedJob[];
  /** There was more to do than one turn does. */
  readonly isBehind: boolean;
}

/** At most this many lapsed slots are taken back in a turn. */
const MOST_TAKEN_BACK = 50;
/** Jobs that turn out not to have their locks; more of them in a row than this wait for the next turn. */
const TRIES = 200;

export function* turn(of: TurnOf): Script<Turn> {
  yield* answerAsked(of);
  return yield* restOfTurn(of, (yield* quickRound([], of, of.party))?.turn);
}

/** Before the turn, which may start the jobs that were answered. */
export function* answerAsked({ given = [], worker, party }: TurnOf): Script<void> {
  if (given.length > 0) yield* answer(given, worker, party, yield* time());
}

/** What the quick way, where there is one, has left to do. */
export function* restOfTurn(of: TurnOf, quick: QuickTurn | undefined): Script<Turn> {
  const runs: JobRun[] = [...(quick?.runs ?? [])];
  if (quick?.isAll) return { runs, asked: [], isBehind: quick.called >= MOST_CALLED };
  const now = yield* time();
  yield* register(of, now);
  const takenBack = yield* takeBackExpired(of, now);
  const isMoreAdded = yield* admitAdded(of.party);
  yield* tickDue(of.party, now);
  const called = yield* callDue(now);
  const has = new Set(of.has);
  let tries = 0;
  for (; runs.length < of.room && tries < TRIES; tries += 1) {
    const picked = yield* pick(has);
    if (picked === null) break;
    const run = yield* start(picked, of, now);
    if (run !== null) runs.push(run);
  }
  return {
    runs,
    asked: yield* askedOf(of.worker, of.definitions),
    isBehind: takenBack === MOST_TAKEN_BACK || isMoreAdded || called >= MOST_CALLED || tries === TRIES,
  };
}

/**
 * Slots whose lease ran out: their runs settle nothing any more, and their locks end in this same step. Not those in the
 * worker's own hands: one that stood still has yet to hear what became of them.
 */
function* takeBackExpired({ party, worker, inHand }: TurnOf, now: StepTime): Script<number> {
  const most = MOST_TAKEN_BACK + inHand.length;
  const lapsed = yield* rows<Slot>(
    // mutant: job-own-epoch: AND epoch = ?2 LIMIT → AND ?2 <> '' LIMIT
    "SELECT * FROM job_slots WHERE until_ms < ?1 AND epoch = ?2 LIMIT ?3",
    now.ms,
    now.epoch,
    most,
  );
  // mutant: takes-back-its-own: || !inHand.includes(Number(slot.job)) → || inHand.includes(Number(slot.job))
  const slots = lapsed.filter((slot) => slot.worker !== worker || !inHand.includes(Number(slot.job)));
  for (const slot of slots.slice(0, MOST_TAKEN_BACK)) yield* takeBack(slot, party);
  return Math.min(slots.length, MOST_TAKEN_BACK);
}

/**
 * Takes back what was kept by another clock: after a restart of the machine, whose clock begins anew, no run of before is
 * left. Waiting jobs whose time is by another clock ask at once.
 */
export function* takeBackOld(party: Party): Script<number> {
  const now = yield* time();
  const slots = yield* rows<Slot>(`SELECT * FROM job_slots WHERE epoch <> ?1 AND ${HAS_ENDED}`, ...endedBy(now));
  for (const slot of slots) yield* takeBack(slot, party);
  yield* rows("UPDATE jobs SET ask_at = 0 WHERE state = 'waiting' AND wait_epoch <> ?1", now.epoch);
  return slots.length;
}

/** One whose lock is just being committed under is left for the next turn. */
function* takeBack(slot: Slot, party: Party): Script<void> {
  const { job, fence, worker } = slot;
  try {
    yield* releaseLocks(locksOf(slot), party);
  } catch (error) {
    if (isHoldfastError(error, "E_LOCK_CONFLICT")) return;
    throw error;
  }
  const message = `its worker ${worker} was not heard of for the length of its lease`;
  yield* endRun(job, fence, { kind: "failed", error: { code: "E_LOCK_EXPIRED", message } }, party);
}

/** Jobs whose time has come, and waiting ones that are to ask again. */
function* callDue(now: StepTime): Script<number> {
  const call = (which: string): string =>
    `UPDATE jobs SET state = 'ready' WHERE job IN (SELECT job FROM jobs WHERE ${which}, job LIMIT ${MOST_CALLED})
       AND cron IS NULL AND flow <> 0 RETURNING project`;
  const called = [
    ...(yield* rows<{ project: string }>(
      call("state = 'scheduled' AND run_at <= ?1 ORDER BY run_at"),
      Math.floor(now.wallMs),
    )),
    ...(yield* rows<{ project: string }>(call("state = 'waiting' AND ask_at <= ?1 ORDER BY ask_at"), now.ms)),
  ];
  for (const project of new Set(called.map((row) => row.project))) yield* refresh(project);
  return called.length;
}

/** A name that no other worker has, also after a restart. */
export function newWorkerName(node: string): string {
  return `${node}:${randomUUID()}`;
}
