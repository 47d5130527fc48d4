/** The endpoint `about`: the workspace that the page shows, and the parts that it has (jobs, board, snapshots). */
import type { Sources } from "../sources.js";
import type { AboutView } from "../views.js";

export function about(
  { workspace, jobs, board, worktrees }: Sources,
  version: string,
  allowsActions: boolean,
): Omit<AboutView, "now"> {
  const { root, where, owner } = workspace;
  return {
    version,
    root,
    store: where,
    owner,
    allows_actions: allowsActions,
    has: { jobs: jobs !== null, board: board !== null, snapshots: worktrees !== null },
  };
}
