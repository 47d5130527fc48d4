/** Converts a job between its row and its public record. */
import type { JobClass, JobLock, JobRecord, JobState } from "../../model.js";

export interface JobRow {
  readonly job: number;
  readonly kind: string;
  readonly project: string;
  readonly map: string | null;
  readonly class: JobClass;
  readonly needs: string;
  readonly flow: number;
  readonly is_map: 0 | 1;
  readonly priority: number;
  readonly payload: string;
  readonly locks: string;
  readonly command: string | null;
  readonly unique_key: string | null;
  readonly max_attempts: number;
  readonly attempts: number;
  readonly timeout_ms: number | null;
  readonly lock_wait_ms: number;
  readonly state: JobState;
  readonly run_at: number;
  readonly wait_key: string | null;
  readonly wait_since: number | null;
  readonly wait_epoch: string | null;
  readonly ask_at: number | null;
  readonly ticket: string | null;
  readonly cancelling: number;
  readonly progress: string | null;
  readonly result: string | null;
  readonly error: string | null;
  readonly worker: string | null;
  readonly created_at: number;
  readonly started_at: number | null;
  readonly ended_at: number | null;
  readonly cron: string | null;
  readonly time_zone: string | null;
  readonly schedule: number | null;
  /** What the job says itself, where the columns without `own_` have what holds by the rules of its kind as well. */
  readonly own_class: JobClass | null;
  readonly own_locks: string;
  readonly own_attempts: number;
  readonly own_timeout_ms: number | null;
  /** The locks that functions of its kind gave, by worker. */
  readonly given_locks: string | null;
  /** The worker, or the print of the function, whose answer it waits for. */
  readonly asked_of: string | null;
}

/** What only other rows tell: those of the workers, and of the runs. */
interface Beside {
  readonly unmetNeeds?: readonly string[];
  readonly isLapsed?: boolean;
}

export function toJob(row: JobRow, { unmetNeeds = [], isLapsed = false }: Beside = {}): JobRecord {
  return {
    id: row.job,
    kind: row.kind,
    project: row.project,
    map: row.map,
    class: row.class,
    needs: JSON.parse(row.needs) as string[],
    priority: row.priority,
    payload: JSON.parse(row.payload) as unknown,
    locks: JSON.parse(row.locks) as JobLock[],
    command: parsed(row.command) as string[] | null,
    unique_key: row.unique_key,
    cron: row.cron,
    time_zone: row.time_zone,
    schedule: row.schedule,
    state: row.state,
    attempts: row.attempts,
    max_attempts: row.max_attempts,
    timeout_ms: row.timeout_ms,
    run_at: new Date(row.run_at).toISOString(),
    progress: parsed(row.progress),
    result: parsed(row.result),
    error: row.asked_of === null ? (parsed(row.error) as JobRecord["error"]) : waitsForKind(row.kind),
    worker: row.worker,
    is_lapsed: isLapsed,
    unmet_needs: unmetNeeds,
    created_at: new Date(row.created_at).toISOString(),
    started_at: iso(row.started_at),
    ended_at: iso(row.ended_at),
  };
}

function waitsForKind(kind: string): JobRecord["error"] {
  const message = `waits for a worker that defines ${kind} to say which locks the job needs`;
  return { code: "E_LOCK_CONFLICT", message };
}

function parsed(text: string | null): unknown {
  return text === null ? null : (JSON.parse(text) as unknown);
}

function iso(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
