/** `holdfast/jobs`: jobs with exact caps, fair between projects and fenced to the end. */

export type { Sql } from "./client/kernel.js";
export type { BorrowedLease } from "./client/lease/borrowed-lease.js";
export type { Caps } from "./features/jobs/cap-names.js";
export type { CommandResult } from "./features/jobs/children/run-command.js";
export type {
  ChildHandler,
  ChildRunTools,
  EnqueueOptions,
  JobHandler,
  KindOptions,
  RunTools,
} from "./features/jobs/define.js";
export type { PostgresClient } from "./features/jobs/enqueue-in.js";
export { type Jobs, openJobs, type WaitOptions } from "./features/jobs/jobs.js";
export type { JobClass, JobLock, JobRecord, JobState } from "./features/jobs/model.js";
export type { EndState, Keep } from "./features/jobs/retention.js";
export type { Enqueued } from "./features/jobs/scripts/enqueue.js";
export type { JobPage } from "./features/jobs/scripts/read-jobs.js";
export type { ProjectSettings } from "./features/jobs/scripts/state/caps.js";
export type { Project } from "./features/jobs/scripts/state/flows.js";
export type { Lane, Lanes } from "./features/jobs/scripts/state/lanes.js";
export type { Worker, WorkerOptions } from "./features/jobs/worker.js";
