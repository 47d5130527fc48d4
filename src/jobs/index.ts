/** Jobs with exact caps, fair between projects, fenced to the end: `holdfast/jobs`. */
export type { BorrowedLease } from "../lease/borrowed-lease.js";
export type { Sql } from "../lease/kernel.js";
export type { Caps } from "./cap-names.js";
export type { CommandResult } from "./children/run-command.js";
export type { ChildHandler, ChildRunTools, EnqueueOptions, JobHandler, KindOptions, RunTools } from "./define.js";
export type { PostgresClient } from "./enqueue-in.js";
export { type Jobs, openJobs, type WaitOptions } from "./jobs.js";
export type { EndState, Keep } from "./keep.js";
export type { JobClass, JobLock, JobRecord, JobState } from "./model.js";
export type { ProjectSettings } from "./steps/caps.js";
export type { Enqueued } from "./steps/enqueue.js";
export type { Project } from "./steps/flows.js";
export type { Lane, Lanes } from "./steps/lanes.js";
export type { JobPage } from "./steps/look.js";
export type { Worker, WorkerOptions } from "./worker.js";
