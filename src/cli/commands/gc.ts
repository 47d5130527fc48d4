/** `holdfast gc`. */
import type { Context, Outcome } from "../context.js";
import { count, size } from "../text.js";
import { openForWriting } from "../worktrees.js";

export async function run(context: Context): Promise<Outcome> {
  const worktrees = await openForWriting(context);
  const wait = context.flags.text("wait");
  const removed = await worktrees.gc(wait === undefined ? {} : { wait });
  return {
    data: { removed },
    text: () =>
      removed.bytes === 0 && removed.folders === 0 && removed.staged === 0
        ? "nothing to remove"
        : `freed ${size(removed.bytes)}: ${count(removed.folders, "snapshot")}, ${count(removed.objects, "pack or large file", "packs and large files")}, ${removed.staged} unfinished`,
  };
}
