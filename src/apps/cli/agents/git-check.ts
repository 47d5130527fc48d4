/** `holdfast hook check git`: checks the staged files before a commit. */
import { assertNobodyElseHolds, stagedKeys } from "../../../agents/hooks/staged-paths.js";
import { HoldfastError } from "../../../base/errors.js";
import { tokenFolderOf } from "../../../client/workspace/find-workspace.js";
import type { BaseContext, Outcome } from "../command.js";

export async function gitCheck(context: BaseContext): Promise<Outcome> {
  const workspace = context.workspace();
  const { root } = workspace;
  if (root === null)
    throw new HoldfastError("E_CONFIG", "there is no workspace whose files could be locked", {
      reason: "no_workspace",
    });
  const keys = stagedKeys(root, context.cwd);
  const holdfast = keys.length === 0 ? null : await context.openForReading();
  if (holdfast !== null) await assertNobodyElseHolds(holdfast, keys, tokenFolderOf(workspace, context.env));
  return { data: { client: "git", moment: "before", decision: "allow", reason: null } };
}
