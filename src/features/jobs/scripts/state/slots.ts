/**
 * Slots: one row per running job, with the number of its run. A start takes a slot and counts it everywhere; an end
 * deletes the slot *by job and number* and only then counts back. So nothing is counted back twice, and a run that was
 * presumed dead and comes back finds no slot of its own and changes nothing.
 */
import type { JobLocks, Party, Script } from "../../../../client/kernel.js";
import { one, releaseLocks, rows, tell, the, time } from "../query.js";
import { refresh } from "./flows.js";
import type { JobRow } from "./job-row.js";

export interface Slot {
  readonly job: number;
  readonly fence: number;
  readonly worker: string;
  readonly until_ms: number;
  readonly epoch: string;
  readonly lease_ms: number;
  /** What its project was charged when it began. */
  readonly charged: number;
  readonly started_ms: number;
  readonly grants: string;
}

export type Ending =
  | { readonly kind: "done"; readonly result: unknown }
  | { readonly kind: "failed"; readonly error: JobError; readonly result?: unknown }
  | { readonly kind: "cancelled"; readonly result?: unknown }
  /** The worker stops and gives it back untouched: the attempt does not count. */
  | { readonly kind: "handed back" };

export interface JobError {
  readonly code: string;
  readonly message: string;
}

/** A slot is known by its job *and* the number of the run. */
// mutant: job-slot-number: OF_THIS_RUN = "job = ?1 AND fence = ?2" → OF_THIS_RUN = "job = ?1 AND ?2 = ?2"
export const OF_THIS_RUN = "job = ?1 AND fence = ?2";

const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 10 * 60_000;
/** How much one run changes what is known of its kind. */
const LEARNING = 0.2;
const TYPICAL_MS = 100;

export function locksOf({ job, grants }: Slot): JobLocks {
  return { job: Number(job), grants: JSON.parse(grants) as JobLocks["grants"] };
}

/** Counts a start: the gates, the project, and the time it is expected to take. */
export function* countStart(
  row: JobRow,
  fence: number,
  typicalMs: number | null,
  slot: Omit<Slot, "job" | "fence" | "charged">,
): Script<void> {
  const charged = typicalMs ?? TYPICAL_MS;
  yield* rows(
    "INSERT INTO job_slots VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    row.job,
    fence,
    slot.worker,
    slot.until_ms,
    slot.epoch,
    slot.lease_ms,
    charged,
    slot.started_ms,
    slot.grants,
  );
  yield* rows("UPDATE job_gates SET running = running + 1 WHERE name IN ('global', ?1)", row.class);
  yield* count(row, 1, charged);
}

/**
 * Ends a run: the slot goes, locks are given back, counters and served time are put right, the job goes where its ending
 * says. False when the slot is not this run's (any more), and nothing has changed.
 */
export function* endRun(job: number, fence: number, ending: Ending, party: Party): Script<boolean> {
  const slot = yield* one<Slot>(`DELETE FROM job_slots WHERE ${OF_THIS_RUN} RETURNING *`, job, fence);
  if (slot === undefined) return false;
  const row = yield* the<JobRow>("SELECT * FROM jobs WHERE job = ?1", job);
  yield* releaseLocks(locksOf(slot), party);
  const now = yield* time();
  const tookMs = now.epoch === slot.epoch ? Math.max(0, now.ms - slot.started_ms) : slot.charged;
  yield* rows("UPDATE job_gates SET running = running - 1 WHERE name IN ('global', ?1)", row.class);
  if (ending.kind === "done") yield* learn(row.kind, tookMs);
  const next = nextState(row, ending, now.wallMs);
  yield* rows(
    `UPDATE jobs SET state = ?1, attempts = ?2, run_at = ?3, result = ?4, error = ?5, worker = NULL, ended_at = ?6,
       cancelling = 0 WHERE job = ?7`,
    next.state,
    next.attempts,
    next.runAt,
    resultOf(ending),
    errorOf(ending),
    next.isOver ? Math.floor(now.wallMs) : null,
    job,
  );
  yield* count(row, -1, tookMs - slot.charged);
  yield* tell(party, job, fence, {
    change: ending.kind,
    state: next.state,
    ...(ending.kind === "failed" ? { error: ending.error } : {}),
  });
  return true;
}

/** As JSON; null when it has none. */
export function resultOf(ending: Ending): string | null {
  return "result" in ending ? JSON.stringify(ending.result ?? null) : null;
}

export function errorOf(ending: Ending): string | null {
  return ending.kind === "failed" ? JSON.stringify(ending.error) : null;
}

function* count({ project, is_map: isMap }: JobRow, by: 1 | -1, servedMs: number): Script<void> {
  yield* rows(
    `UPDATE job_projects SET running = running + ?1, map_running = map_running + ?2, vt = vt + ?3 / weight
     WHERE project = ?4`,
    by,
    isMap * by,
    servedMs,
    project,
  );
  yield* refresh(project);
}

function* learn(kind: string, tookMs: number): Script<void> {
  yield* rows(
    `INSERT INTO job_kinds (kind, typical_ms) VALUES (?1, ?2)
       ON CONFLICT (kind) DO UPDATE SET typical_ms = coalesce(job_kinds.typical_ms, ?2) * ?3 + ?2 * ?4`,
    kind,
    tookMs,
    1 - LEARNING,
    LEARNING,
  );
}

function nextState(row: JobRow, ending: Ending, wallMs: number) {
  const attempts = ending.kind === "handed back" ? row.attempts - 1 : row.attempts;
  const over = (state: string) => ({ state, attempts, runAt: row.run_at, isOver: true });
  if (ending.kind === "done") return over("done");
  if (ending.kind === "cancelled" || row.cancelling === 1) return over("cancelled");
  if (ending.kind === "handed back") return { state: "ready", attempts, runAt: Math.floor(wallMs), isOver: false };
  if (attempts >= row.max_attempts) return over("failed");
  return { state: "scheduled", attempts, runAt: Math.floor(wallMs + pauseBefore(attempts)), isOver: false };
}

/** How long after so many attempts the next one comes. */
export function pauseBefore(attempts: number): number {
  return Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** (attempts - 1));
}
