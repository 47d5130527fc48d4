/**
 * Finds what crashes and tampering left of worktrees and snapshots. `holdfast verify` reads the contents, this check
 * does not.
 */
import { openIn } from "../../../client/open-holdfast.js";
import { checkSnapshots, type Fault } from "../../../features/worktree/examine.js";
import { layoutOf } from "../../../features/worktree/layout.js";
import { openWorktrees } from "../../../features/worktree/open-worktrees.js";
import type { Check, Diagnosis, Patient } from "../check.js";

export const leftSnapshots: Check = {
  name: "snapshots",
  async look({ workspace }): Promise<readonly Diagnosis[]> {
    const { root } = workspace;
    if (root === null) return [];
    return (await checkSnapshots(layoutOf(root))).map((fault) => describe(fault, workspace, root));
  },
};

function describe(
  { kind, path, problem, repairable, worktree }: Fault,
  workspace: Patient["workspace"],
  root: string,
): Diagnosis {
  const message = `${path}: ${problem}`;
  // mutant: doctor-folder-gone: if (worktree !== undefined) → if (worktree === "")
  if (worktree !== undefined)
    return {
      code: "WORKTREE_FOLDER_GONE",
      message,
      next: [
        `holdfast worktree remove ${worktree} forgets it; its snapshots stay.`,
        `holdfast restore SNAPSHOT --to ${path} brings its files back after that.`,
      ],
    };
  if (!repairable)
    return {
      code: "SNAPSHOT_DAMAGED",
      message,
      next: ["holdfast verify --all", "Whole snapshots can be restored with --to."],
    };
  return {
    code: kind === "interrupted" ? "RESTORE_INTERRUPTED" : "SNAPSHOT_ORPHAN",
    message,
    next: [kind === "interrupted" ? "holdfast doctor --repair finishes it" : "holdfast gc"],
    repair: () => repair(workspace, root),
  };
}

async function repair(workspace: Patient["workspace"], root: string): Promise<string> {
  const holdfast = await openIn(workspace, { heart: "loop" });
  try {
    const left = await (await openWorktrees(holdfast, { root })).check({ repair: true });
    return `finished or removed what crashes left of snapshots and restores; ${left.length} faults are not safe to mend`;
  } finally {
    await holdfast.close();
  }
}
