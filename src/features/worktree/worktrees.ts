/** The worktrees of a workspace: registering them, taking and reading their snapshots, and restoring them. */
import type { Duration } from "../../base/duration.js";
import type { Collected } from "./collect/gc.js";
import type { Fault } from "./examine.js";
import type { WorktreeMode } from "./registry.js";
import type { RestoredInPlace } from "./restore/in-place.js";
import type { Difference } from "./snapshot/compare.js";
import type { ConsistencyLevel, SnapshotInfo } from "./snapshot/descriptor.js";
import type { Verdict } from "./snapshot/verify.js";
import type { Presenting } from "./worktree-lock.js";

export interface WorktreesOptions {
  /** The workspace. */
  readonly root: string;
  /** Allows restoring a shared worktree in place. */
  readonly sharedInPlace?: boolean;
  /** Threads that hash. Default as many as are good here; 0 for none. */
  readonly threads?: number;
}

export interface TakeOptions extends Presenting, Progressing {
  readonly note?: string;
  readonly tags?: readonly string[];
  /** Default `quiesced`; in a shared worktree `best_effort`. */
  readonly consistency?: ConsistencyLevel;
}

export interface Progressing {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
}

export interface Progress {
  readonly files: number;
  readonly bytes: number;
  /** What the tree had the last time, or null. */
  readonly expectedBytes: number | null;
}

/** A worktree as it is shown. */
export interface WorktreeInfo {
  readonly worktree_id: string;
  readonly path: string;
  readonly mode: WorktreeMode;
  readonly created_at: string;
  readonly head: string | null;
  readonly restored_from: string | null;
  readonly warnings: readonly string[];
}

export interface Worktrees {
  readonly trees: {
    /** `E_INVALID_ARGUMENT` when the name is taken, or folders would lie in one another. */
    add(name: string, options?: { readonly path?: string; readonly mode?: WorktreeMode }): Promise<WorktreeInfo>;
    list(): readonly WorktreeInfo[];
    get(name: string): WorktreeInfo;
    /** Forgets it; its files stay. With `snapshots` its history goes too, for gc to remove. */
    remove(name: string, options?: Presenting & { readonly snapshots?: boolean }): Promise<void>;
  };
  /** `E_LOCK_CONFLICT`, `E_CONSISTENCY_UNAVAILABLE`, `E_FENCING_MISMATCH`, `E_LOCK_EXPIRED`, `E_LOCK_NOT_HELD`, `E_IO`. */
  take(worktree: string, options?: TakeOptions): Promise<SnapshotInfo & { readonly files_read: number }>;
  /** Complete snapshots, oldest first. Takes no lock. */
  list(options?: { readonly worktree?: string }): readonly SnapshotInfo[];
  /**
   * By id, by an unmistakable part of one, or by a tag that no other has; so wherever an `id` is asked for. What fits an id
   * is never taken for a tag. `E_NOT_FOUND`, `E_PARTIAL_SNAPSHOT`, `E_INVALID_ARGUMENT` when several fit.
   */
  info(id: string): SnapshotInfo;
  diff(before: string, after: string): Promise<readonly Difference[]>;
  /** One, or everything. */
  verify(id: string | null, options?: Pick<Progressing, "signal">): Promise<Verdict>;
  readonly restore: {
    /** Makes a new worktree, without any lock. */
    toNew(id: string, to: string, options?: Progressing & { readonly name?: string }): Promise<WorktreeInfo>;
    /** `E_FORBIDDEN` in a shared worktree unless it was configured. */
    inPlace(id: string, worktree: string, options?: Presenting & Progressing): Promise<RestoredInPlace>;
    /** Finishes what a crash interrupted; null when nothing was. With `revert` goes back to what was there before. */
    settle(worktree: string, options?: { readonly revert?: boolean }): Promise<RestoredInPlace | null>;
  };
  /** Removes what nothing uses. */
  gc(options?: { readonly wait?: Duration }): Promise<Collected>;
  /** What a crash or tampering left. `repair` tidies what is safe. */
  check(options?: { readonly repair?: boolean }): Promise<readonly Fault[]>;
}
