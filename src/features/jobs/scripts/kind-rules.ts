/**
 * Applies the rules of a kind to one of its jobs at its start: the union of locks, the smaller of attempts and time-outs,
 * and the kind's class where the job has none. What the job itself says stands in its columns `own_…`; what holds, in the
 * columns without, which each start writes anew.
 *
 * Locks that are functions of the payload are called outside of the store's steps, each by a worker that has the
 * function. A job whose locks from some function are not known yet is asked for (`asked_of`) and waits, outside its
 * flow; a worker that has the function answers in its next turn (`given_locks`). A start needs an answer of the starting
 * worker itself where it has a function, and one for each other function that is in force.
 *
 * What a crash leaves, by the moment:
 *   asked, not answered     another worker with this function answers; with none left, the function goes out of force
 *                           with its worker, and the job, which looks again every second, starts without it
 *   answered, not started   the answer stands on the job, and counts for as long as the function is in force
 *   a definition comes, goes or changes in between: the start reads what is in force in its own step
 *   started                 the run keeps the locks that it began with; a definition that comes later holds from the next
 *                           start on, and meets the run by the locks they share
 * Functions are told apart by their texts: two with the same text and other values around them count as one.
 */
import type { Party, Script, StepTime } from "../../../client/kernel.js";
import { MODES, type Mode } from "../../../lock/mode.js";
import type { JobLock } from "../model.js";
import { one, rows } from "./query.js";
import {
  askable,
  type Definitions,
  definitionOf,
  definitionsIn,
  type KindRow,
  kindRow,
  least,
} from "./state/definitions.js";
import { refresh } from "./state/flows.js";
import type { JobRow } from "./state/job-row.js";
import { giveUp, waitsSince } from "./state/lock-queue.js";
import type { JobError } from "./state/slots.js";

/** How soon a job that waits for an answer looks whether it is still needed. */
const LOOK_AGAIN_MS = 1_000;
/** At most so many are answered in a turn. */
const MOST_ASKED = 200;

/** A job of whose payload this worker has to call its function. */
export interface AskedJob {
  readonly job: number;
  readonly kind: string;
  /** As JSON. */
  readonly payload: string;
}

/** What the function gave for a job. */
export interface GivenLocks {
  readonly job: number;
  readonly print: string;
  readonly outcome: { readonly locks: readonly JobLock[] } | { readonly error: JobError };
}

interface Given {
  readonly print: string;
  readonly locks: readonly JobLock[];
}

/** The job as it is to start; its locks are not decided yet. */
export function limited(row: JobRow, kind: KindRow | undefined): JobRow {
  return withRules(row, {
    class: row.own_class ?? kind?.class ?? "io",
    // mutant: kind-attempts: least([row.own_attempts, kind?.max_attempts]) → least([row.own_attempts])
    max_attempts: least([row.own_attempts, kind?.max_attempts]) ?? row.own_attempts,
    // mutant: kind-timeout: least([row.own_timeout_ms, kind?.timeout_ms]) → least([row.own_timeout_ms])
    timeout_ms: least([row.own_timeout_ms, kind?.timeout_ms]),
    locks: row.locks,
  });
}

/** The row itself where it says so already: a copy of a row costs more than a statement. */
function withRules(row: JobRow, rules: Pick<JobRow, "class" | "max_attempts" | "timeout_ms" | "locks">): JobRow {
  const isSame =
    row.class === rules.class &&
    row.max_attempts === rules.max_attempts &&
    row.timeout_ms === rules.timeout_ms &&
    row.locks === rules.locks;
  return isSame ? row : { ...row, ...rules };
}

/** All the locks it needs, as JSON; or of whom to ask for those of a function: a worker, or the print of a function. */
export function neededLocks(
  row: JobRow,
  kind: KindRow | undefined,
  worker: string,
  own: Definitions = {},
): { readonly locks: string } | { readonly askOf: string } {
  const all = definitionsIn(kind).map(({ locks = [] }) => locks);
  if (all.length === 0) return { locks: row.own_locks };
  const given = JSON.parse(row.given_locks ?? "{}") as Readonly<Record<string, Given>>;
  const mine = definitionOf(row.kind, own)?.locks;
  // mutant: own-function: given[worker]?.print !== mine → given[worker]?.print === ""
  if (typeof mine === "string" && given[worker]?.print !== mine) return { askOf: worker };
  const [prints, lists] = [
    all.filter((each) => typeof each === "string"),
    all.filter((each) => typeof each !== "string"),
  ];
  const answers = Object.values(given).filter(({ print }) => prints.includes(print));
  const unknown = prints.find((print) => !answers.some((each) => each.print === print));
  // mutant: others-function: if (unknown !== undefined) return { askOf: unknown }; →
  if (unknown !== undefined) return { askOf: unknown };
  const more = [...lists, ...answers.map(({ locks }) => locks)].flat();
  return { locks: JSON.stringify(unionOf(JSON.parse(row.own_locks) as JobLock[], more)) };
}

/** Of two modes for a key the stronger. The job's own come first, the others in the order of their keys. */
export function unionOf(own: readonly JobLock[], more: readonly JobLock[]): JobLock[] {
  const modes = new Map<string, Mode>();
  const sorted = [...more].sort((one, other) => (one.resource < other.resource ? -1 : 1));
  for (const { resource, mode } of [...own, ...sorted]) {
    const other = modes.get(resource) ?? "read";
    modes.set(resource, MODES.indexOf(mode) > MODES.indexOf(other) ? mode : other);
  }
  return [...modes].map(([resource, mode]) => ({ resource, mode }));
}

/** Steps aside until somebody has answered. */
export function* askFor(row: JobRow, askOf: string, now: StepTime): Script<void> {
  yield* rows(
    `UPDATE jobs SET state = 'waiting', asked_of = ?1, ask_at = ?2, wait_since = ?3, wait_epoch = ?4 WHERE job = ?5`,
    askOf,
    now.ms + LOOK_AGAIN_MS,
    row.wait_since === null ? null : waitsSince(row, now),
    now.epoch,
    row.job,
  );
  yield* refresh(row.project);
}

/** The jobs that ask for what this worker can answer. */
export function* askedOf(worker: string, definitions: Definitions | undefined): Script<AskedJob[]> {
  const asked: AskedJob[] = [];
  for (const who of askable(worker, definitions))
    asked.push(
      ...(yield* rows<AskedJob>(
        `SELECT job, kind, payload FROM jobs WHERE asked_of = ?1 ORDER BY job LIMIT ${MOST_ASKED}`,
        who,
      )),
    );
  return asked;
}

/** Writes the answers down, each for a job that still asks; a function that failed has failed that attempt. */
export function* answer(answers: readonly GivenLocks[], worker: string, party: Party, now: StepTime): Script<void> {
  for (const { job, print, outcome } of answers) {
    const row = yield* one<JobRow>("SELECT * FROM jobs WHERE job = ?1 AND asked_of IN (?2, ?3)", job, worker, print);
    if (row === undefined) continue;
    if ("error" in outcome) {
      yield* giveUp(limited(row, yield* kindRow(row.kind)), outcome.error, party, now);
      continue;
    }
    const given = { ...JSON.parse(row.given_locks ?? "{}"), [worker]: { print, locks: outcome.locks } };
    yield* rows(
      "UPDATE jobs SET given_locks = ?1, asked_of = NULL, ask_at = ?2 WHERE job = ?3",
      JSON.stringify(given),
      now.ms,
      job,
    );
  }
}
