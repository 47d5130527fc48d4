/** `holdfast worktree remove NAME`. */
import type { Context, Outcome } from "../context.js";
import { openForWriting, presenting } from "../worktrees.js";

export async function run(context: Context): Promise<Outcome> {
  const worktrees = await openForWriting(context);
  const name = context.arg("NAME");
  const worktree = worktrees.trees.get(name);
  const snapshots = context.flags.has("snapshots");
  await worktrees.trees.remove(name, { snapshots, ...(await presenting(context, name)) });
  return {
    data: { worktree },
    text: () => `forgot worktree ${name}; its files in ${worktree.path} stay`,
    notes: snapshots ? ["holdfast gc frees what nothing else uses"] : [],
  };
}
