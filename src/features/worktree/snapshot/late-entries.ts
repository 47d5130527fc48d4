/**
 * Adds the audit entries that snapshots may lack: their process died between the rename that published them and the end
 * of that step. `staging/ID.cache` is there from before the rename until after the step, so one beside a complete
 * snapshot is the sign. The next snapshot of the worktree, or `doctor --repair`, looks into the chain and adds the
 * entry, marked `late`, before the sign is removed. This happens only while no process uses objects: then no sign
 * belongs to a snapshot under way.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { removeFile } from "../../../files/durable-file.js";
import type { Layout } from "../layout.js";
import type { SnapshotInfo } from "./descriptor.js";
import { isSnapshotId } from "./snapshot-id.js";
import { findSnapshot } from "./snapshots.js";
import type { Committer } from "./take-snapshot.js";

/** Who may add entries for a worktree. */
export interface Teller {
  readonly name: string;
  readonly committer: Committer;
}

const CACHE = ".cache";

/** What the audit chain keeps of a snapshot. */
export function taleOf(info: SnapshotInfo): Record<string, unknown> {
  const { snapshot_id, parent_id, payload_root_hash, kind } = info;
  return { snapshot_id, parent_id, payload_root_hash, kind };
}

export function untoldIn(layout: Layout): SnapshotInfo[] {
  return readdirSync(layout.staging)
    .sort()
    .flatMap((name) => untold(layout, name) ?? []);
}

/** Names in staging/ that nobody needs any more. */
export function unfinishedIn(layout: Layout): string[] {
  return readdirSync(layout.staging)
    .sort()
    .filter((name) => untold(layout, name) === null);
}

function untold(layout: Layout, name: string): SnapshotInfo | null {
  const id = name.slice(0, -CACHE.length);
  return name.endsWith(CACHE) && isSnapshotId(id) ? findSnapshot(layout, id) : null;
}

export async function tellLate(layout: Layout, { name, committer }: Teller): Promise<void> {
  for (const info of untoldIn(layout)) {
    if (info.worktree_id !== name) continue;
    if (!(await committer.hasTold(info.snapshot_id)))
      await committer.commit(() => undefined, "snapshot", { ...taleOf(info), late: true, taken_by: info.owner });
    removeFile(join(layout.staging, `${info.snapshot_id}${CACHE}`));
  }
}
