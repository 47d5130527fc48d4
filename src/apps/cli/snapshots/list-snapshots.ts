/** Lists the snapshots of one worktree or of all, as the tree of their parents. */
import { given } from "../../../base/given.js";
import type { ContextWith, Outcome } from "../command.js";
import { historyText } from "./history-text.js";
import { openForReading } from "./worktrees.js";

export async function listSnapshots(
  context: ContextWith<{ readonly tag: string | undefined }, { readonly WORKTREE: string | undefined }>,
): Promise<Outcome> {
  const worktrees = await openForReading(context);
  const { WORKTREE: worktree } = context.args;
  if (worktree !== undefined && worktrees.list({ worktree }).length === 0) worktrees.trees.get(worktree);
  const { tag } = context.flags;
  const snapshots = worktrees.list(given({ worktree })).filter((each) => tag === undefined || each.tags.includes(tag));
  const heads = new Map<string, string[]>();
  for (const { worktree_id: name, head } of worktrees.trees.list())
    if (head !== null) heads.set(head, [...(heads.get(head) ?? []), name]);
  return {
    data: { snapshots, next: null },
    text: (screen) => historyText(snapshots, heads, screen),
    notes: snapshots.length === 0 ? ["no snapshots yet: holdfast snapshot"] : [],
  };
}
