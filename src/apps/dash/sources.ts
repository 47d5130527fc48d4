/** Opens the sources of the page: the store of locks, and the jobs, board and worktrees that the workspace has. */
import { join } from "node:path";
import { HoldfastError, isHoldfastError } from "../../base/errors.js";
import { HOME } from "../../base/home-folder.js";
import type { Holdfast } from "../../client/holdfast.js";
import { storeMark } from "../../client/workspace/find-workspace.js";
import { type BoardReader, openBoardReader } from "../../features/board/board.js";
import type { Workspace } from "../../features/configuration.js";
import { type Jobs, openJobs } from "../../jobs.js";
import { isThere } from "../../platform/look-up.js";
import { openWorktrees, type Worktrees } from "../../worktree.js";
import { Trail } from "./trail.js";

export interface Sources {
  readonly holdfast: Holdfast;
  readonly workspace: Pick<Workspace, "root" | "where" | "owner">;
  readonly trail: Trail;
  /** Null where the store has no tables for them. */
  readonly jobs: Jobs | null;
  /** Null where there is no workspace. */
  readonly board: BoardReader | null;
  readonly worktrees: Worktrees | null;
}

/** What is opened is only read. The holdfast stays the caller's to close. */
export async function openSources(holdfast: Holdfast, workspace: Sources["workspace"]): Promise<Sources> {
  const { root } = workspace;
  return {
    holdfast,
    workspace,
    trail: new Trail(holdfast.audit),
    jobs: await jobsOf(holdfast),
    board: root === null ? null : openBoardReader(join(root, HOME, "board")),
    worktrees: root === null ? null : await openWorktrees(null, { root }),
  };
}

async function jobsOf(holdfast: Holdfast): Promise<Jobs | null> {
  try {
    return await openJobs(holdfast);
  } catch (error) {
    if (isHoldfastError(error, "E_CONFIG")) return null;
    throw error;
  }
}

/** Where a folder was taken away everything looks empty. `E_STORE_UNAVAILABLE` */
export function requireStore({ workspace: { where } }: Sources): void {
  const mark = storeMark(where);
  if (mark === null || isThere(mark)) return;
  throw new HoldfastError("E_STORE_UNAVAILABLE", `${mark} is gone: it was deleted or moved`, {
    reason: "no_store",
    next: ["Put it back. When a new one is made, start `holdfast dash` again."],
  });
}
