/** Looking at jobs. */
import type { Script } from "../../store/contract.js";
import { JOB_STATES, type JobRecord, type JobState } from "../model.js";
import { one, rows } from "./ask.js";
import { type JobRow, toJob } from "./job-row.js";

export interface JobPage {
  readonly project?: string;
  readonly state?: JobState;
  /** Jobs with a higher number than this. */
  readonly after?: number;
  /** Default 100. */
  readonly limit?: number;
}

const MOST = 1_000;

export function* jobNumbered(id: number): Script<JobRecord | null> {
  const row = yield* one<JobRow>("SELECT * FROM jobs WHERE job = ?1", id);
  return row === undefined ? null : toJob(row);
}

/** In the order they were added. */
export function* listJobs({ project, state, after = 0, limit = 100 }: JobPage): Script<JobRecord[]> {
  const conditions = ["job > ?1"];
  const values: unknown[] = [after];
  if (project !== undefined) conditions.push(`project = ?${values.push(project)}`);
  if (state !== undefined && JOB_STATES.includes(state)) conditions.push(`state = ?${values.push(state)}`);
  const where = conditions.join(" AND ");
  const found = yield* rows<JobRow>(
    `SELECT * FROM jobs WHERE ${where} ORDER BY job LIMIT ?${values.push(Math.min(limit, MOST))}`,
    ...values,
  );
  return found.map(toJob);
}
