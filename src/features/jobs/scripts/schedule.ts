/**
 * Schedules: a repeated job is a row in the state `scheduled` that never runs itself. When its time has come, the turn
 * that finds it adds a job like it and moves the schedule to its next time, in one step: so of however many workers one
 * adds it, and a crash neither adds it twice nor loses it. One job makes up for all times that passed while there was no
 * worker, also when a program that starts adds its schedule again before its worker has taken a turn.
 *
 * A schedule under a unique name gives that name to its jobs: while one is not over, the next time is skipped. While a
 * caller's transaction adds a job of that name, its outcome is unknown: the next turn examines the schedule again.
 */
import { Cron } from "croner";
import { invalidArgument } from "../../../base/errors.js";
import type { Party, Script, StepTime } from "../../../client/kernel.js";
import { mayAdd, one, rows, tell, the } from "./query.js";
import { flowFor, refresh } from "./state/flows.js";
import { insertJob, type NewRow } from "./state/insert-job.js";
import type { JobRow } from "./state/job-row.js";

/** At most so many that are due are looked at in a turn. */
export const MOST_CALLED = 500;
const OF_SCHEDULE = "schedule of ";

/** The first time after this one; null when there is none any more. `E_INVALID_ARGUMENT` for what is no such thing. */
export function nextTime(cron: string, timeZone: string | null, afterMs: number): number | null {
  try {
    const times = new Cron(cron, { paused: true, ...(timeZone === null ? {} : { timezone: timeZone }) });
    return times.nextRun(new Date(afterMs))?.getTime() ?? null;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message.replace(/^CronPattern: /, "") : String(cause);
    throw invalidArgument("cron", `${JSON.stringify(cron)} is no schedule such as 0 3 * * 1-5: ${why}`);
  }
}

/** A schedule of the same unique name is changed into this one. */
export function* addSchedule(row: NewRow, party: Party, now: StepTime): Script<JobRow> {
  const unique = row.unique_key === null ? null : `${OF_SCHEDULE}${row.unique_key}`;
  const first = nextTime(row.cron ?? "", row.time_zone, Math.max(now.wallMs, row.run_at - 1));
  if (first === null) throw invalidArgument("cron", `${row.cron} has no time left`);
  const there =
    unique === null
      ? undefined
      : yield* one<JobRow>("SELECT * FROM jobs WHERE unique_key = ?1 AND state = 'scheduled'", unique);
  if (there !== undefined) yield* rows("DELETE FROM jobs WHERE job = ?1", there.job);
  // mutant: job-schedule-again: (there, row, now) ? there.run_at : first → (there, row, now) ? first : first
  const runAt = there !== undefined && isOwedIn(there, row, now) ? there.run_at : first;
  const schedule = yield* insertJob({ ...row, unique_key: unique, run_at: runAt, state: "scheduled" });
  if (there !== undefined) yield* tell(party, there.job, null, { change: "replaced", by: schedule.job });
  yield* tell(party, schedule.job, null, {
    change: "scheduled",
    kind: row.kind,
    project: row.project,
    cron: row.cron,
    time_zone: row.time_zone,
  });
  return schedule;
}

/** Whether a time of this schedule has come that nobody has seen to yet, and the one in its place has the same times. */
function isOwedIn(there: JobRow, { cron, time_zone: zone, run_at: notBefore }: NewRow, { wallMs }: StepTime): boolean {
  return there.run_at <= wallMs && notBefore <= wallMs && there.cron === cron && there.time_zone === zone;
}

/** Adds the jobs of schedules whose time has come. */
export function* tickDue(party: Party, now: StepTime): Script<void> {
  const due = yield* rows<JobRow>(
    `SELECT * FROM (SELECT * FROM jobs WHERE state = 'scheduled' AND run_at <= ?1 ORDER BY run_at, job LIMIT ?2) AS due
     WHERE cron IS NOT NULL`,
    Math.floor(now.wallMs),
    MOST_CALLED,
  );
  for (const schedule of due) yield* tick(schedule, party, now);
}

function* tick(schedule: JobRow, party: Party, now: StepTime): Script<void> {
  const { job: id, run_at: time } = schedule;
  const unique = schedule.unique_key?.slice(OF_SCHEDULE.length) ?? `time ${time} of schedule ${id}`;
  const isClear = schedule.unique_key === null || (yield* mayAdd(unique));
  const sql = `SELECT job FROM jobs WHERE unique_key = ?1 AND state IN ('scheduled', 'ready', 'waiting', 'running')`;
  const busy = yield* one<{ job: number }>(sql, unique);
  if (busy === undefined && !isClear) return;
  if (busy === undefined) {
    const flow = schedule.flow;
    const row = { ...schedule, flow, unique_key: unique, cron: null, time_zone: null, schedule: id } as const;
    const job = yield* insertJob({ ...row, state: "ready", created_at: now.wallMs });
    yield* refresh(job.project);
    yield* tell(party, job.job, null, { change: "added", kind: job.kind, project: job.project, schedule: id });
  } else yield* tell(party, id, null, { change: "left out", time, because_of: busy.job });
  const next = nextTime(schedule.cron ?? "", schedule.time_zone, now.wallMs);
  // mutant: job-schedule-moves-on: yield* rows("UPDATE jobs SET run_at = ?1 WHERE job = ?2", next, id); → return;
  if (next !== null) yield* rows("UPDATE jobs SET run_at = ?1 WHERE job = ?2", next, id);
  else yield* rows("UPDATE jobs SET state = 'done', ended_at = ?1 WHERE job = ?2", Math.floor(now.wallMs), id);
}

/** Lines up what transactions of callers added. True when there may be more. */
export function* admitAdded(party: Party): Script<boolean> {
  const added = yield* rows<JobRow>("SELECT * FROM jobs WHERE flow = 0 ORDER BY job LIMIT ?1", MOST_CALLED);
  for (const row of added) yield* admit(row, party);
  return added.length === MOST_CALLED;
}

/** With the flow it belongs to. */
export function* admit(row: JobRow, party: Party): Script<JobRow> {
  const { flow } = yield* flowFor(row.project, row.class, row.needs);
  yield* tell(party, row.job, null, { change: "added", kind: row.kind, project: row.project });
  const admitted = yield* the<JobRow>("UPDATE jobs SET flow = ?1 WHERE job = ?2 RETURNING *", flow, row.job);
  if (admitted.state === "ready") yield* refresh(admitted.project);
  return admitted;
}
