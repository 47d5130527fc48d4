/** Names grants on files of a worktree that is gone. They stay until their holder or their profile ends them. */

import { count } from "../../../base/count-text.js";
import { goneWorktreeOf } from "../../../client/path-key.js";
import { isFileKey } from "../../../lock/reserved-kinds.js";
import type { BaseContext } from "../command.js";

export function goneWorktreeNotes(
  context: BaseContext,
  grants: readonly { readonly resource: string }[],
): readonly string[] {
  const files = grants.filter(({ resource }) => isFileKey(resource) && resource.includes("@"));
  const { root } = files.length === 0 ? { root: null } : context.workspace();
  if (root === null) return [];
  const numbers = new Map<string, number>();
  for (const { resource } of files) {
    const tree = goneWorktreeOf(root, resource);
    if (tree !== null) numbers.set(tree, (numbers.get(tree) ?? 0) + 1);
  }
  return [...numbers].map(([tree, number]) => `${tree}: ${count(number, "lock")} of a worktree that is gone`);
}
