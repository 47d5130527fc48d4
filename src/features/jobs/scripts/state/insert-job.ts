/** Inserts the row of a new job. */
import type { Script } from "../../../../client/kernel.js";
import { the } from "../query.js";
import type { JobRow } from "./job-row.js";

/** Everything that is known of a job before it is lined up, as its columns. */
export type NewRow = Pick<
  JobRow,
  | "kind"
  | "project"
  | "map"
  | "class"
  | "own_class"
  | "needs"
  | "priority"
  | "payload"
  | "locks"
  | "command"
  | "unique_key"
  | "max_attempts"
  | "timeout_ms"
  | "lock_wait_ms"
  | "run_at"
  | "created_at"
  | "cron"
  | "time_zone"
  | "schedule"
> & { readonly flow: number; readonly state: "ready" | "scheduled" };

/** With its values. A job of the flow 0 was added by a transaction of the caller's, and is lined up by the next turn. */
export function insertion(row: NewRow): { readonly sql: string; readonly values: readonly unknown[] } {
  return {
    sql: `INSERT INTO jobs (kind, project, map, class, needs, flow, is_map, priority, payload, locks, command, unique_key,
       max_attempts, attempts, timeout_ms, lock_wait_ms, state, run_at, cancelling, created_at, cron, time_zone, schedule,
       own_class, own_locks, own_attempts, own_timeout_ms)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, 0, ?14, ?15, ?16, ?17, 0, ?18, ?19, ?20, ?21, ?22, ?10, ?13, ?14)
     RETURNING *`,
    values: [
      row.kind,
      row.project,
      row.map,
      row.class,
      row.needs,
      row.flow,
      row.map === null ? 0 : 1,
      row.priority,
      row.payload,
      row.locks,
      row.command,
      row.unique_key,
      row.max_attempts,
      row.timeout_ms,
      row.lock_wait_ms,
      row.state,
      Math.floor(row.run_at),
      Math.floor(row.created_at),
      row.cron,
      row.time_zone,
      row.schedule,
      row.own_class,
    ],
  };
}

export function* insertJob(row: NewRow): Script<JobRow> {
  const { sql, values } = insertion(row);
  return yield* the<JobRow>(sql, ...values);
}
