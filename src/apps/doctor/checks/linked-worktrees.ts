/**
 * Checks the linked worktrees of the repository: records of workspaces that count for nothing, and grants on files of a
 * worktree that is gone.
 */
import { join } from "node:path";
import { HOME } from "../../../base/home-folder.js";
import { goneWorktreeOf } from "../../../client/path-key.js";
import { linkedCopiesOf } from "../../../client/workspace/repository.js";
import { recordPath } from "../../../client/workspace/workspace-record.js";
import { isThere } from "../../../platform/look-up.js";
import { type Check, type Diagnosis, type Patient, storeOf } from "../check.js";
import { treesOf } from "../store-walk.js";

export const linkedWorktrees: Check = {
  name: "linked worktrees",
  async look(patient): Promise<readonly Diagnosis[]> {
    const { root } = patient.workspace;
    return root === null ? [] : [...recordsIn(root), ...(await grantsOfGone(patient, root))];
  },
};

function recordsIn(root: string): Diagnosis[] {
  // mutant: doctor-worktree-record: isThere(recordPath(folder))) → folder === "")
  const found = linkedCopiesOf(root).filter(({ folder }) => isThere(recordPath(folder)));
  return found.map(({ name, folder }) => ({
    code: "WORKTREE_RECORD",
    message: `${recordPath(folder)} counts for nothing: the linked worktree ${name} uses the workspace ${root}`,
    next: [
      `holdfast lock list --store sqlite:${join(folder, HOME, "holdfast.db")} shows what an earlier version holds there.`,
      `Remove ${recordPath(folder)} when nothing is held there.`,
    ],
  }));
}

async function grantsOfGone(patient: Patient, root: string): Promise<Diagnosis[]> {
  const store = storeOf(patient);
  if (store === null) return [];
  const found: Diagnosis[] = [];
  for await (const { tree, grants } of treesOf(store)) {
    const [first] = grants;
    // mutant: doctor-gone-worktree: goneWorktreeOf(root, first.resource) === null) continue; → first.resource !== "") continue;
    if (first === undefined || goneWorktreeOf(root, first.resource) === null) continue;
    found.push({
      code: "GRANT_WORKTREE_GONE",
      message: `${tree}: ${grants.length === 1 ? "1 lock is" : `${grants.length} locks are`} held on files of a worktree that is gone`,
      next: [
        "Nothing needs to be done: they end with their holders, or by their profile.",
        `holdfast lock list --prefix ${tree} shows them.`,
      ],
    });
  }
  return found;
}
