/**
 * The head of each worktree: the snapshot that it stands on, which is the parent of its next one. The head names the
 * new snapshot before it is published, and the one before it as well: a reader checks whether the new one is there. So
 * the rename that publishes the snapshot moves the head in the same instant, and no crash comes between.
 */
import { join } from "node:path";
import { replaceFile } from "../../../files/durable-file.js";
import type { Layout } from "../layout.js";
import { readSealedIfThere, sealText } from "../sealed-file.js";
import { findSnapshot } from "./snapshots.js";

interface HeadRecord {
  readonly worktree_id: string;
  readonly snapshot_id: string | null;
  readonly before: string | null;
}

/** Null when nothing was taken yet, or what it stood on was removed. `E_STORE_CORRUPT`. */
export function readHead(layout: Layout, worktree: string): string | null {
  const head = readSealedIfThere<HeadRecord>(join(layout.heads, `${worktree}.json`));
  if (head === null || head.snapshot_id === null) return null;
  if (findSnapshot(layout, head.snapshot_id) !== null) return head.snapshot_id;
  // mutant: tree-removed-origin: !== null && findSnapshot(layout, head.before) !== null ? head.before : null; → ;
  return head.before !== null && findSnapshot(layout, head.before) !== null ? head.before : null;
}

/** Under the guard, before the snapshot is published; durable. */
export function writeHead(layout: Layout, worktree: string, snapshotId: string, before: string | null): void {
  const record: HeadRecord = { worktree_id: worktree, snapshot_id: snapshotId, before };
  replaceFile(join(layout.heads, `${worktree}.json`), Buffer.from(sealText(record)), true);
}
