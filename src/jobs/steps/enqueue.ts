/** Adding a job: one row, its flow told of it, and an entry. A unique key that is still in use gives the job that has it. */
import type { Party, Script } from "../../store/contract.js";
import { HoldfastError } from "../../support/errors.js";
import type { JobClass, JobLock, JobRecord } from "../model.js";
import { express, one, rows, tell, the, time } from "./ask.js";
import { flowFor, refresh } from "./flows.js";
import type { JobRow } from "./job-row.js";
import { leaveLine } from "./lock-line.js";
import { shownJob } from "./look.js";

export interface NewJob {
  readonly kind: string;
  readonly project: string;
  readonly map: string | null;
  readonly class: JobClass;
  readonly needs: readonly string[];
  readonly priority: number;
  readonly payload: unknown;
  readonly locks: readonly JobLock[];
  readonly command: readonly string[] | null;
  readonly uniqueKey: string | null;
  readonly maxAttempts: number;
  readonly timeoutMs: number | null;
  readonly lockWaitMs: number;
  /** Not before; null is now. */
  readonly runAtMs: number | null;
}

export interface Enqueued {
  readonly job: JobRecord;
  /** False when a job with the same unique key was there already. */
  readonly isNew: boolean;
}

export function* enqueue(job: NewJob, party: Party): Script<Enqueued> {
  const added = yield* quickly(job, party);
  if (added !== undefined) return { job: yield* shownJob(added.row), isNew: added.is_new };
  if (job.uniqueKey !== null) {
    const there = yield* withKey(job.uniqueKey);
    if (there !== undefined) return { job: yield* shownJob(there), isNew: false };
  }
  const now = yield* time();
  const needs = JSON.stringify([...job.needs].sort());
  const { flow } = yield* flowFor(job.project, job.class, needs);
  const runAt = job.runAtMs ?? now.wallMs;
  const state = runAt > now.wallMs ? "scheduled" : "ready";
  const row = yield* the<JobRow>(
    `INSERT INTO jobs (kind, project, map, class, needs, flow, is_map, priority, payload, locks, command, unique_key,
       max_attempts, attempts, timeout_ms, lock_wait_ms, state, run_at, cancelling, created_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, 0, ?14, ?15, ?16, ?17, 0, ?18) RETURNING *`,
    job.kind,
    job.project,
    job.map,
    job.class,
    needs,
    flow,
    job.map === null ? 0 : 1,
    job.priority,
    JSON.stringify(job.payload ?? null),
    JSON.stringify(job.locks),
    job.command === null ? null : JSON.stringify(job.command),
    job.uniqueKey,
    job.maxAttempts,
    job.timeoutMs,
    job.lockWaitMs,
    state,
    Math.floor(runAt),
    Math.floor(now.wallMs),
  );
  if (state === "ready") yield* refresh(job.project);
  yield* tell(party, row.job, null, { change: "added", kind: job.kind, project: job.project });
  return { job: yield* shownJob(row), isNew: true };
}

/** As one call, where the store can do that. */
function* quickly(job: NewJob, party: Party): Script<{ readonly row: JobRow; readonly is_new: boolean } | undefined> {
  const now = yield* time();
  const spec = {
    kind: job.kind,
    project: job.project,
    map: job.map,
    class: job.class,
    needs: JSON.stringify([...job.needs].sort()),
    priority: job.priority,
    payload: JSON.stringify(job.payload ?? null),
    locks: JSON.stringify(job.locks),
    command: job.command === null ? null : JSON.stringify(job.command),
    unique_key: job.uniqueKey,
    max_attempts: job.maxAttempts,
    timeout_ms: job.timeoutMs,
    lock_wait_ms: job.lockWaitMs,
    run_at: job.runAtMs === null ? null : Math.floor(job.runAtMs),
  };
  const values = { spec: JSON.stringify(spec), owner: party.owner, holder_id: party.holderId, now: now.ms };
  return yield* express("job_add", values);
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
  const row = yield* one<JobRow>("SELECT * FROM jobs WHERE job = ?1", id);
  if (row === undefined) return null;
  const now = yield* time();
  if (row.state === "running") {
    if (row.cancelling === 0) {
      yield* rows("UPDATE jobs SET cancelling = 1 WHERE job = ?1", id);
      yield* tell(party, id, null, { change: "cancelling" });
    }
  } else if (row.state === "scheduled" || row.state === "ready" || row.state === "waiting") {
    const sql = "UPDATE jobs SET state = 'cancelled', wait_key = NULL, ticket = NULL, ended_at = ?1 WHERE job = ?2";
    yield* rows(sql, Math.floor(now.wallMs), id);
    yield* leaveLine(row, party, now);
    yield* refresh(row.project);
    yield* tell(party, id, null, { change: "cancelled" });
  }
  return yield* shownJob(yield* the<JobRow>("SELECT * FROM jobs WHERE job = ?1", id));
}

/**
 * A job that failed or was cancelled begins anew, with all its attempts. Null when there is none of that number;
 * `E_LOCK_CONFLICT` when another has its unique key meanwhile.
 */
export function* retryJob(id: number, party: Party): Script<JobRecord | null> {
  const row = yield* one<JobRow>("SELECT * FROM jobs WHERE job = ?1", id);
  if (row === undefined) return null;
  if (row.state === "failed" || row.state === "cancelled") {
    const other = row.unique_key === null ? undefined : yield* withKey(row.unique_key);
    if (other !== undefined)
      throw new HoldfastError("E_LOCK_CONFLICT", `job ${other.job} has the unique key ${row.unique_key} now`, {
        details: { job: other.job },
      });
    const now = yield* time();
    yield* rows(
      `UPDATE jobs SET state = 'ready', attempts = 0, cancelling = 0, error = NULL, result = NULL, ended_at = NULL,
         wait_since = NULL, run_at = ?1 WHERE job = ?2`,
      Math.floor(now.wallMs),
      id,
    );
    yield* refresh(row.project);
    yield* tell(party, id, null, { change: "retried" });
  }
  return yield* shownJob(yield* the<JobRow>("SELECT * FROM jobs WHERE job = ?1", id));
}
