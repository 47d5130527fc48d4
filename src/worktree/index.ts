export type { Fault } from "./check.js";
export type { Difference } from "./compare.js";
export type { ConsistencyLevel, SnapshotInfo } from "./descriptor.js";
export type { Collected } from "./gc.js";
export type { Presenting } from "./locking.js";
export {
  openWorktrees,
  type Progress,
  type TakeOptions,
  type WorktreeInfo,
  type Worktrees,
  type WorktreesOptions,
} from "./open-worktrees.js";
export type { WorktreeMode } from "./registry.js";
export type { RestoredInPlace } from "./restore/in-place.js";
export type { Finding, Verdict } from "./verify.js";
