/**
 * Parks a job that cannot have its locks. It leaves its flow, so that the next job may run, and waits for the key that
 * blocked it. In each flow the first job that waits for a key joins that lock's queue and polls; the jobs behind it are
 * called when it has left, for any reason. There is one first job in each *flow*, because the same workers run all jobs of
 * a flow: a job that no worker can run must not hold back others.
 *
 * The times of polls are on the monotonic clock, so that a change of the calendar delays no job.
 */

import type { Answer, Party, Script, StepTime } from "../../../../client/kernel.js";
import type { Want } from "../../../../lock/grant.js";
import type { Key } from "../../../../lock/key.js";
import type { JobLock } from "../../model.js";
import { one, rows, tell } from "../query.js";
import { refresh } from "./flows.js";
import type { JobRow } from "./job-row.js";
import { type JobError, pauseBefore } from "./slots.js";

/** How often the first that waits for a lock asks again, so that it keeps its place in line. */
const ASK_AGAIN_MS = 500;

export function wantsOf({ locks }: JobRow): Want[] {
  return (JSON.parse(locks) as JobLock[]).map(({ resource, mode }) => ({
    resource: resource as Key,
    mode,
    permits: null,
  }));
}

/** How long it may go on waiting for its locks. */
export function waitLeftMs(row: JobRow, now: StepTime): number {
  return row.lock_wait_ms - (now.ms - waitsSince(row, now));
}

export function waitsSince(row: JobRow, now: StepTime): number {
  return row.wait_epoch === now.epoch ? (row.wait_since ?? now.ms) : now.ms;
}

/** Leaves the flow until it is to ask again, or has waited long enough. */
export function* stepAside(
  row: JobRow,
  answer: Exclude<Answer, { kind: "granted" }>,
  party: Party,
  now: StepTime,
): Script<void> {
  const ticket = answer.kind === "queued" ? answer.ticketId : null;
  const { resource, owner } = answer.kind === "queued" ? answer.inTheWay : answer.contention;
  const message = `waits for ${resource}, held by ${owner ?? "somebody"}`;
  const leftMs = waitLeftMs(row, now);
  if (leftMs <= 0) {
    const why = `could not have its locks in ${row.lock_wait_ms} ms: ${message}`;
    yield* giveUp({ ...row, ticket: ticket ?? row.ticket }, { code: "E_LOCK_TIMEOUT", message: why }, party, now);
    return;
  }
  yield* rows(
    `UPDATE jobs SET state = 'waiting', wait_key = ?1, wait_since = ?2, wait_epoch = ?3, ask_at = ?4, ticket = ?5,
       error = ?6, locks = ?8, max_attempts = ?9, timeout_ms = ?10 WHERE job = ?7`,
    resource,
    waitsSince(row, now),
    now.epoch,
    now.ms + (ticket === null ? leftMs : Math.min(leftMs, ASK_AGAIN_MS)),
    ticket,
    JSON.stringify({ code: "E_LOCK_CONFLICT", message }),
    row.job,
    row.locks,
    row.max_attempts,
    row.timeout_ms,
  );
  if (row.wait_key !== null && row.wait_key !== resource) yield* callNext(row, now);
  yield* refresh(row.project);
}

/** A start that did not come about is an attempt too: it is tried again later, or has failed for good. */
export function* giveUp(row: JobRow, error: JobError, party: Party, now: StepTime): Script<void> {
  const attempts = row.attempts + 1;
  const isOver = attempts >= row.max_attempts;
  const state = isOver ? "failed" : "scheduled";
  yield* rows(
    `UPDATE jobs SET state = ?1, attempts = ?2, wait_key = NULL, wait_since = NULL, ticket = NULL, asked_of = NULL, error = ?3,
       run_at = ?4, ended_at = ?5, max_attempts = ?7 WHERE job = ?6`,
    state,
    attempts,
    JSON.stringify(error),
    Math.ceil(now.wallMs + pauseBefore(attempts)),
    isOver ? Math.floor(now.wallMs) : null,
    row.job,
    row.max_attempts,
  );
  yield* leaveLine(row, party, now);
  yield* refresh(row.project);
  yield* tell(party, row.job, null, { change: "failed", state, error });
}

/** Gives its place in the lock's line back, and calls whoever waits behind it. The row no longer waits. */
export function* leaveLine(row: JobRow, party: Party, now: StepTime): Script<void> {
  if (row.ticket !== null) yield { ask: "leave", ticketId: row.ticket, wants: wantsOf(row), party };
  if (row.wait_key !== null) yield* callNext(row, now);
}

/** Whether nobody of its flow goes before it for this key. */
export function* isFirstFor(key: string, { flow, job, priority }: JobRow): Script<boolean> {
  const head = yield* headOf(flow, key);
  return head === undefined || head.priority < priority || (head.priority === priority && head.job >= job);
}

function* headOf(flow: number, key: string): Script<Pick<JobRow, "job" | "priority"> | undefined> {
  return yield* one(
    `SELECT job, priority FROM jobs WHERE state = 'waiting' AND flow = ?1 AND wait_key = ?2
     ORDER BY priority DESC, job LIMIT 1`,
    flow,
    key,
  );
}

/** The next that waits for the key this one waited for is to ask. */
export function* callNext({ flow, wait_key: key }: JobRow, now: StepTime): Script<void> {
  const next = key === null ? undefined : yield* headOf(flow, key);
  if (next !== undefined) yield* rows("UPDATE jobs SET ask_at = ?1 WHERE job = ?2", now.ms, next.job);
}
