/**
 * Removes unused data: stages that were never published, folders of snapshots that are not complete, and of removed
 * snapshots every pack and large object that no complete snapshot names.
 *
 * No other process uses objects in the meantime: gc holds the claim, which every process that takes, restores or reads a
 * snapshot pins first. So data that is unused when gc checks stays unused. A crash leaves some of it for the next gc.
 *
 * A folder that is not complete is never a snapshot in the making (those are in staging/): it was removed on purpose
 * (`.RETIRED`), or damaged. A damaged one is kept as long as it has a descriptor, so that a person can repair it.
 */
import { closeSync, readdirSync, renameSync, rmSync, statSync, unlinkSync } from "node:fs";
import { basename, join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { syncFolder } from "../../../files/durable-file.js";
import { createFresh } from "../../../platform/folder-rights.js";
import { isThere } from "../../../platform/look-up.js";
import type { Layout } from "../layout.js";
import { entriesOf } from "../manifest/manifest-reader.js";
import { createMarks, type Marks } from "../objects/marks.js";
import type { ObjectIndex } from "../objects/object-index.js";
import type { ObjectReader } from "../objects/object-reader.js";
import { manifestOf } from "../snapshot/compare.js";
import type { SnapshotInfo } from "../snapshot/descriptor.js";
import { unfinishedIn } from "../snapshot/late-entries.js";
import { allIds, folderOf, listSnapshots, openObjects } from "../snapshot/snapshots.js";
import { systemError } from "../system-error.js";
import { claimObjects } from "./pins.js";
import { sweepLarge } from "./sweep-large.js";

export interface Collected {
  /** Names in staging/ that were removed. */
  readonly staged: number;
  /** Folders of snapshots. */
  readonly folders: number;
  readonly objects: number;
  readonly bytes: number;
}

/** `E_LOCK_CONFLICT` when something runs for longer than `waitMs`; `E_STORE_CORRUPT` when it cannot tell what is used. */
export async function collect(layout: Layout, waitMs: number): Promise<Collected> {
  using _claim = await claimObjects(layout, waitMs);
  try {
    return await sweep(layout);
  } catch (error) {
    throw systemError(error, "tidy", layout.base);
  }
}

async function sweep(layout: Layout): Promise<Collected> {
  const collected = { staged: 0, folders: 0, objects: 0, bytes: 0 };
  for (const name of unfinishedIn(layout)) {
    collected.staged += 1;
    collected.bytes += remove(join(layout.staging, name));
  }
  using reader = openObjects(layout);
  const used = await mark(layout, reader);
  for (const id of allIds(layout)) {
    await setImmediate();
    const folder = folderOf(layout, id);
    if (isThere(join(folder, ".READY")) || isThere(join(folder, "descriptor.json"))) continue;
    sweepFolder(layout, folder, { index: reader.index, used }, collected);
  }
  syncFolder(layout.taken);
  return collected;
}

interface Findings {
  readonly index: ObjectIndex;
  readonly used: Marks;
}

/** Which objects some complete snapshot needs. */
async function mark(layout: Layout, reader: ObjectReader): Promise<Marks> {
  const marks = createMarks(reader.index.parts);
  const use = (sha256: string): void => marks.set(reader.place(sha256));
  for (const { snapshot_id: id } of listSnapshots(layout)) {
    const manifest = manifestOf(layout, id);
    for (const piece of manifest.pieces) use(piece);
    let count = 0;
    for (const entry of entriesOf(reader, manifest)) {
      if (entry.kind === "file") use(entry.sha256);
      count += 1;
      if (count % 1_000 === 0) await setImmediate();
    }
  }
  return marks;
}

/** The folder keeps the packs that are used, whole, and large objects that are; when none is, it goes. */
function sweepFolder(
  layout: Layout,
  folder: string,
  { index, used }: Findings,
  collected: { folders: number; objects: number; bytes: number },
): void {
  const indexes = readdirSync(folder).filter((name) => name.endsWith(".idx"));
  const isUsed = (file: string): boolean =>
    used.hasAny(index.parts.findIndex((each) => each.folder === folder && each.file === file));
  const kept = indexes.filter(isUsed);
  if (kept.length === 0) {
    const aside = join(layout.staging, basename(folder));
    renameSync(folder, aside); // In one step: half of a folder would look like a damaged snapshot.
    collected.folders += 1;
    collected.bytes += remove(aside);
    return;
  }
  for (const file of indexes.filter((name) => !kept.includes(name))) {
    collected.objects += 1;
    for (const name of [file, file.slice(0, -".idx".length)]) collected.bytes += remove(join(folder, name));
  }
  for (const bytes of sweepLarge(folder, kept, index, used)) {
    collected.objects += 1;
    collected.bytes += bytes;
  }
}

/** Returns how many bytes it had. */
function remove(path: string): number {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return 0;
  if (!stats.isDirectory()) {
    unlinkSync(path);
    return stats.size;
  }
  let bytes = 0;
  for (const name of readdirSync(path)) bytes += statSync(join(path, name), { throwIfNoEntry: false })?.size ?? 0;
  rmSync(path, { recursive: true, force: true });
  return bytes;
}

/**
 * Snapshots of one worktree that no snapshot of another comes from, however far back. The newest first: a crash while they
 * are taken out leaves none without its parent.
 */
export function onlyOf(worktree: string, all: readonly SnapshotInfo[]): string[] {
  const parents = new Map(all.map((each) => [each.snapshot_id, each.parent_id]));
  const kept = new Set<string>();
  // mutant: tree-chain-kept: !== null && !kept.has(id); → !== null && !kept.has(id) && kept.size < 2;
  for (const { snapshot_id, worktree_id } of all)
    if (worktree_id !== worktree)
      for (let id: string | null = snapshot_id; id !== null && !kept.has(id); id = parents.get(id) ?? null)
        kept.add(id);
  return all
    .filter((each) => each.worktree_id === worktree && !kept.has(each.snapshot_id))
    .map((each) => each.snapshot_id)
    .reverse();
}

/** Takes a snapshot out of the list; its contents stay until gc finds that nothing uses them. A crash leaves it listed or not. */
export function retire(folder: string): void {
  closeSync(createFresh(join(folder, ".RETIRED")));
  for (const name of [".READY", "descriptor.json", "manifest", "skipped"]) rmSync(join(folder, name), { force: true });
  syncFolder(folder);
}
