/** Takes a snapshot of a worktree. */

import { count, size } from "../../../base/count-text.js";
import { given } from "../../../base/given.js";
import type { ConsistencyLevel } from "../../../features/worktree/snapshot/descriptor.js";
import type { ContextWith, Outcome } from "../command.js";
import { chooseWorktree, openForWriting, presenting, progressLine } from "./worktrees.js";

interface SnapshotFlags {
  readonly message: string | undefined;
  readonly tag: readonly string[];
  readonly consistency: ConsistencyLevel | undefined;
  readonly token: string | undefined;
  readonly wait: string | undefined;
}

export async function takeSnapshot(
  context: ContextWith<SnapshotFlags, { readonly WORKTREE: string | undefined }>,
): Promise<Outcome> {
  const { message: note = "", tag: tags, consistency } = context.flags;
  const worktrees = await openForWriting(context);
  const name = chooseWorktree(context, worktrees, context.args.WORKTREE);
  const progress = progressLine(context, "reading");
  try {
    const taken = await worktrees.take(name, {
      note,
      tags,
      ...given({ consistency, onProgress: progress.onProgress }),
      ...(await presenting(context, name)),
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
