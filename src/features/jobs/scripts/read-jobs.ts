/** Reads jobs: one, or a page of them. */
import type { Script, StepTime } from "../../../client/kernel.js";
import { endedBy, HAS_ENDED } from "../../../lock/job-time.js";
import type { JobRecord, JobState } from "../model.js";
import { one, rows, time } from "./query.js";
import { type JobRow, toJob } from "./state/job-row.js";

export interface JobPage {
  readonly project?: string;
  readonly state?: JobState;
  /** Jobs with a higher number than this. */
  readonly after?: number;
  /** Jobs with a lower number than this, the newest first. */
  readonly before?: number;
  /** Default 100, at most 1,000. */
  readonly limit?: number;
}

export function* jobNumbered(id: number): Script<JobRecord | null> {
  const row = yield* one<JobRow>("SELECT * FROM jobs WHERE job = ?1", id);
  return row === undefined ? null : yield* shownJob(row);
}

/** In the order they were added, or with `before` the other way round. */
export function* listJobs({ project, state, after = 0, before, limit = 100 }: JobPage): Script<JobRecord[]> {
  const conditions = [before === undefined ? "job > ?1" : "job < ?1"];
  const values: unknown[] = [before ?? after];
  if (project !== undefined) conditions.push(`project = ?${values.push(project)}`);
  if (state !== undefined) conditions.push(`state = ?${values.push(state)}`);
  const where = conditions.join(" AND ");
  const found = yield* rows<JobRow>(
    `SELECT * FROM jobs WHERE ${where} ORDER BY job${before === undefined ? "" : " DESC"} LIMIT ?${values.push(limit)}`,
    ...values,
  );
  return yield* shown(found);
}

/** As everybody sees it. */
export function* shownJob(row: JobRow): Script<JobRecord> {
  return (yield* shown([row]))[0] ?? toJob(row);
}

/** A job that nobody who is there can run is not left waiting without a word, nor one whose worker is gone running. */
export function* shown(found: readonly JobRow[]): Script<JobRecord[]> {
  const [isWaitedFor, isRun] = [found.some(hasNotBegun), found.some(({ state }) => state === "running")];
  if (!isWaitedFor && !isRun) return found.map((row) => toJob(row));
  const now = yield* time();
  const workers = isWaitedFor ? yield* workersThere(now) : [];
  const lapsed = isRun ? yield* lapsedRuns(now) : new Set<number>();
  return found.map((row) =>
    hasNotBegun(row) ? shownBeside(row, workers) : toJob(row, { isLapsed: lapsed.has(row.job) }),
  );
}

/** One that has not begun, when it is known what the workers that are there have. */
export function shownBeside(row: JobRow, workers: readonly string[]): JobRecord {
  const has = workers.map((labels) => new Set(JSON.parse(labels) as string[]));
  return toJob(row, { unmetNeeds: unmet(JSON.parse(row.needs) as string[], has) });
}

function* workersThere(now: StepTime): Script<readonly string[]> {
  const sql = `SELECT DISTINCT has FROM job_workers WHERE NOT (${HAS_ENDED})`;
  return (yield* rows<{ has: string }>(sql, ...endedBy(now))).map(({ has }) => has);
}

function* lapsedRuns(now: StepTime): Script<ReadonlySet<number>> {
  const sql = `SELECT job FROM job_slots WHERE ${HAS_ENDED}`;
  return new Set((yield* rows<{ job: number }>(sql, ...endedBy(now))).map(({ job }) => Number(job)));
}

function hasNotBegun({ state }: JobRow): boolean {
  return state === "scheduled" || state === "ready" || state === "waiting";
}

/** What the worker that comes nearest lacks. */
function unmet(needs: readonly string[], workers: readonly ReadonlySet<string>[]): readonly string[] {
  const lacking = workers.map((has) => needs.filter((need) => !has.has(need)));
  return lacking.reduce((least, each) => (each.length < least.length ? each : least), needs);
}
