/**
 * Adds a job: one row, an update of its flow, and an audit entry. A unique key that is still in use returns the job
 * that has it. Also cancels a job, and retries one that failed or was cancelled.
 */

import { HoldfastError } from "../../../base/errors.js";
import type { Party, Script } from "../../../client/kernel.js";
import type { JobRecord, NewJob } from "../model.js";
import { express, mayAdd, one, rows, tell, the, time } from "./query.js";
import { shownBeside, shownJob } from "./read-jobs.js";
import { addSchedule, admit, nextTime } from "./schedule.js";
import { flowFor, refresh } from "./state/flows.js";
import { insertJob, type NewRow } from "./state/insert-job.js";
import type { JobRow } from "./state/job-row.js";
import { leaveLine } from "./state/lock-queue.js";

export interface Enqueued {
  readonly job: JobRecord;
  /** False when a job with the same unique key was there already. */
  readonly isNew: boolean;
}

export function* enqueue(job: NewJob, party: Party): Script<Enqueued> {
  const quick = yield* quickly(job, party);
  if (quick?.is_new === true) return { job: shownBeside(quick.row, quick.workers), isNew: true };
  if (quick !== undefined) return { job: yield* shownJob(quick.row), isNew: false };
  if (job.unique_key !== null && job.cron === null) {
    const there = yield* withKey(job.unique_key);
    if (there !== undefined) return { job: yield* shownJob(there), isNew: false };
  }
  const now = yield* time();
  const row = rowOf(job, now.wallMs);
  const { flow } = yield* flowFor(row.project, row.class, row.needs);
  if (row.cron !== null) return { job: yield* shownJob(yield* addSchedule({ ...row, flow }, party, now)), isNew: true };
  const added = yield* insertJob({ ...row, flow });
  if (added.state === "ready") yield* refresh(job.project);
  yield* tell(party, added.job, null, { change: "added", kind: job.kind, project: job.project });
  return { job: yield* shownJob(added), isNew: true };
}

/** As its row, not yet in a flow. */
export function rowOf({ run_at_ms: notBefore, delay_ms: delayMs, ...job }: NewJob, wallMs: number): NewRow {
  const runAt = notBefore ?? wallMs + delayMs;
  return {
    ...job,
    needs: JSON.stringify([...job.needs].sort()),
    payload: JSON.stringify(job.payload ?? null),
    locks: JSON.stringify(job.locks),
    command: job.command === null ? null : JSON.stringify(job.command),
    flow: 0,
    state: runAt > wallMs ? "scheduled" : "ready",
    run_at: Math.floor(runAt),
    created_at: Math.floor(wallMs),
    schedule: null,
  };
}

/** Returns when the job may start, in the words of a server: at a time, or after a delay by the clock of the server. */
export function startOn({ run_at_ms: notBefore, delay_ms }: NewJob) {
  return notBefore === null ? { run_at: null, delay_ms } : { run_at: Math.floor(notBefore) };
}

interface ToldJob {
  readonly row: JobRow;
  readonly is_new: boolean;
  /** What the workers that are there have. */
  readonly workers: readonly string[];
}

/** As one call, where the store can do that. Whether its time has come is seen there. */
function* quickly(job: NewJob, party: Party): Script<ToldJob | undefined> {
  if (job.cron !== null) return undefined;
  const spec = JSON.stringify({ ...rowOf(job, 0), ...startOn(job) });
  return yield* express("job_add", { spec, owner: party.owner, holder_id: party.holderId });
}

/** The job that has this unique key now. */
function* withKey(uniqueKey: string): Script<JobRow | undefined> {
  return yield* one<JobRow>(
    `SELECT * FROM jobs WHERE unique_key = ?1 AND state IN ('scheduled', 'ready', 'waiting', 'running')`,
    uniqueKey,
  );
}

/** The state a job goes to by other means than a run: cancelled before it ran, or put back into the queue. */
export function* cancel(id: number, party: Party): Script<JobRecord | null> {
  const found = yield* one<JobRow>("SELECT * FROM jobs WHERE job = ?1", id);
  if (found === undefined) return null;
  const row = found.flow === 0 ? yield* admit(found, party) : found;
  const now = yield* time();
  if (row.state === "running") {
    if (row.cancelling === 0) {
      yield* rows("UPDATE jobs SET cancelling = 1 WHERE job = ?1", id);
      yield* tell(party, id, null, { change: "cancelling" });
    }
  } else if (row.state === "scheduled" || row.state === "ready" || row.state === "waiting") {
    yield* rows(
      `UPDATE jobs SET state = 'cancelled', wait_key = NULL, ticket = NULL, asked_of = NULL, ended_at = ?1 WHERE job = ?2`,
      Math.floor(now.wallMs),
      id,
    );
    yield* leaveLine(row, party, now);
    yield* refresh(row.project);
    yield* tell(party, id, null, { change: "cancelled" });
  }
  return yield* shownJob(yield* the<JobRow>("SELECT * FROM jobs WHERE job = ?1", id));
}

/**
 * A job that failed or was cancelled begins anew, with all its attempts. Null when there is none of that number;
 * `E_LOCK_CONFLICT` when another has its unique key meanwhile; `E_STORE_UNAVAILABLE` while that is not settled.
 */
export function* retryJob(id: number, party: Party): Script<JobRecord | null> {
  const row = yield* one<JobRow>("SELECT * FROM jobs WHERE job = ?1", id);
  if (row === undefined) return null;
  if (row.state === "failed" || row.state === "cancelled") {
    const isClear = row.unique_key === null || (yield* mayAdd(row.unique_key));
    const other = row.unique_key === null ? undefined : yield* withKey(row.unique_key);
    if (other !== undefined)
      throw new HoldfastError("E_LOCK_CONFLICT", `job ${other.job} has the unique key ${row.unique_key} now`, {
        details: { job: other.job },
      });
    if (!isClear)
      throw new HoldfastError(
        "E_STORE_UNAVAILABLE",
        `a transaction that is open adds a job under the unique key ${row.unique_key}`,
        { reason: "busy" },
      );
    const now = yield* time();
    const again = row.cron === null ? now.wallMs : nextTime(row.cron, row.time_zone, now.wallMs);
    yield* rows(
      `UPDATE jobs SET state = ?3, attempts = 0, cancelling = 0, error = NULL, result = NULL, ended_at = NULL,
         wait_since = NULL, run_at = ?1 WHERE job = ?2`,
      Math.floor(again ?? now.wallMs),
      id,
      row.cron === null ? "ready" : "scheduled",
    );
    yield* refresh(row.project);
    yield* tell(party, id, null, { change: "retried" });
  }
  return yield* shownJob(yield* the<JobRow>("SELECT * FROM jobs WHERE job = ?1", id));
}
