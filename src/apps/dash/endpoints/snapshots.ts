/** The endpoint `snapshots`: the snapshots, newest first, and the head of each worktree. */
import { HoldfastError } from "../../../base/errors.js";
import { given } from "../../../base/given.js";
import type { Query } from "../query.js";
import type { Sources } from "../sources.js";
import type { SnapshotsView } from "../views.js";

const MOST = 500;

export async function snapshots({ worktrees }: Sources, query: Query): Promise<Omit<SnapshotsView, "now">> {
  if (worktrees === null)
    throw new HoldfastError("E_CONFIG", "there is no workspace, and so no snapshots", { reason: "no_workspace" });
  const worktree = query.text("worktree");
  const all = worktrees.list(given({ worktree }));
  const newest = [...all].sort((a, b) => (a.created_at < b.created_at ? 1 : a.created_at > b.created_at ? -1 : 0));
  return { worktrees: worktrees.trees.list(), snapshots: newest.slice(0, MOST), total: all.length };
}
