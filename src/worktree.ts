/** `holdfast/worktree`: worktrees, snapshots of them, and restoring. */
export type { Collected } from "./features/worktree/collect/gc.js";
export type { Fault } from "./features/worktree/examine.js";
export { openWorktrees } from "./features/worktree/open-worktrees.js";
export type { WorktreeMode } from "./features/worktree/registry.js";
export type { RestoredInPlace } from "./features/worktree/restore/in-place.js";
export type { Difference } from "./features/worktree/snapshot/compare.js";
export type { ConsistencyLevel, SnapshotInfo } from "./features/worktree/snapshot/descriptor.js";
export type { Finding, Verdict } from "./features/worktree/snapshot/verify.js";
export type { Presenting } from "./features/worktree/worktree-lock.js";
export type {
  Progress,
  TakeOptions,
  WorktreeInfo,
  Worktrees,
  WorktreesOptions,
} from "./features/worktree/worktrees.js";
