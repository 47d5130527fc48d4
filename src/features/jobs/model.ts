/** The public model of a job: its states, its classes, its record and the fields of a new one. */
import type { Mode } from "../../lock/mode.js";

export const JOB_STATES = ["scheduled", "ready", "waiting", "running", "done", "failed", "cancelled"] as const;
/**
 * scheduled: its time has not come. ready: may start. waiting: stepped aside for a lock. running: has a slot.
 * done, failed (attempts used up: a dead letter), cancelled: for good.
 */
export type JobState = (typeof JOB_STATES)[number];

export const CLASSES = ["cpu", "io"] as const;
export type JobClass = (typeof CLASSES)[number];

export interface JobLock {
  readonly resource: string;
  readonly mode: Mode;
}

/** The settings of a job: its own, and from its first start on also those of its kind, whichever are stricter. */
interface JobSpec<Payload = unknown> {
  readonly kind: string;
  readonly project: string;
  readonly map: string | null;
  readonly class: JobClass;
  readonly needs: readonly string[];
  readonly priority: number;
  readonly payload: Payload;
  readonly locks: readonly JobLock[];
  readonly command: readonly string[] | null;
  readonly unique_key: string | null;
  /** Of a schedule: when it adds a job like it. It does not run itself. */
  readonly cron: string | null;
  readonly time_zone: string | null;
  readonly max_attempts: number;
  readonly timeout_ms: number | null;
}

/** A job that is about to be added. */
export interface NewJob extends JobSpec {
  /** Null leaves it to the kind. */
  readonly own_class: JobClass | null;
  readonly lock_wait_ms: number;
  /** Not before; null is now, and `delay_ms` later, by the clock of the store. */
  readonly run_at_ms: number | null;
  readonly delay_ms: number;
}

export interface JobRecord<Payload = unknown> extends JobSpec<Payload> {
  readonly id: number;
  /** The schedule that added it. */
  readonly schedule: number | null;
  readonly state: JobState;
  readonly attempts: number;
  readonly run_at: string;
  readonly progress: unknown;
  readonly result: unknown;
  /** Why it failed, or why it waits. */
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly worker: string | null;
  /** Of a job that runs: its worker was not heard of for the length of its lease, and the next one that looks takes it back. */
  readonly is_lapsed: boolean;
  /** Labels that no live worker has, of a job that has not begun: `kind:KIND` when none runs its kind. Empty when one can run it. */
  readonly unmet_needs: readonly string[];
  readonly created_at: string;
  readonly started_at: string | null;
  readonly ended_at: string | null;
}

/** A run of a job in the hands of a worker: what it must show to settle it. */
export interface JobRun {
  readonly job: JobRecord;
  /** Higher than that of any run before; a slot with another number is not this run's. */
  readonly fence: number;
  readonly leaseMs: number;
  /** The lease token of the locks it was given. */
  readonly token: string;
}
