/** `holdfast history [WORKTREE]`. */
import type { Context, Outcome } from "../context.js";
import { historyText } from "../history-text.js";
import { openForReading } from "../worktrees.js";

export async function run(context: Context): Promise<Outcome> {
  const worktrees = await openForReading(context);
  const [worktree] = context.args("WORKTREE");
  if (worktree !== undefined && worktrees.list({ worktree }).length === 0) worktrees.trees.get(worktree);
  const tag = context.flags.text("tag");
  const snapshots = worktrees
    .list(worktree === undefined ? {} : { worktree })
    .filter((each) => tag === undefined || each.tags.includes(tag));
  const heads = new Map<string, string[]>();
  for (const { worktree_id: name, head } of worktrees.trees.list())
    if (head !== null) heads.set(head, [...(heads.get(head) ?? []), name]);
  return {
    data: { snapshots, next: null },
    text: (screen) => historyText(snapshots, heads, screen),
    notes: snapshots.length === 0 ? ["no snapshots yet: holdfast snapshot"] : [],
  };
}
