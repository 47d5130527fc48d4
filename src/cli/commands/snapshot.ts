/** `holdfast snapshot [WORKTREE]`. */
import type { ConsistencyLevel } from "../../worktree/descriptor.js";
import type { Context, Outcome } from "../context.js";
import { count, size } from "../text.js";
import { chooseWorktree, openForWriting, presenting, progressLine } from "../worktrees.js";

export async function run(context: Context): Promise<Outcome> {
  const { flags } = context;
  const worktrees = await openForWriting(context);
  const name = chooseWorktree(context, worktrees);
  const consistency = flags.text("consistency") as ConsistencyLevel | undefined;
  const progress = progressLine(context, "reading");
  try {
    const taken = await worktrees.take(name, {
      note: flags.text("message") ?? "",
      tags: flags.list("tag"),
      ...(consistency === undefined ? {} : { consistency }),
      ...(await presenting(context, name)),
      ...(progress.onProgress === undefined ? {} : { onProgress: progress.onProgress }),
      signal: context.signal,
    });
    return {
      data: taken,
      text: () =>
        `snapshot ${taken.snapshot_id} of ${name}: ${count(taken.entries, "entry", "entries")}, ${size(taken.bytes)}, ${count(taken.files_read, "file")} read`,
      notes: taken.warnings,
    };
  } finally {
    progress.end();
  }
}
