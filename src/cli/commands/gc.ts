/** `holdfast gc`. */
import type { Context, Outcome } from "../context.js";
import { openForWriting, size } from "../worktrees.js";

export async function run(context: Context): Promise<Outcome> {
  const worktrees = await openForWriting(context);
  const wait = context.flags.text("wait");
  const removed = await worktrees.gc(wait === undefined ? {} : { wait });
  return {
    data: { removed },
    text: () =>
      removed.bytes === 0 && removed.folders === 0 && removed.staged === 0
        ? "nothing to remove"
        : `freed ${size(removed.bytes)}: ${removed.folders} snapshots, ${removed.objects} packs, ${removed.staged} unfinished`,
  };
}
