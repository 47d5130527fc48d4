/**
 * Restores a snapshot to a new folder, without any lock.
 *
 *   1  pin the objects; write an intent that names the folder in the making
 *   2  write the tree into `.NAME.holdfast-ID` beside the target; sync it
 *   3  rename it to the target; sync the parent
 *   4  put the new worktree on record, standing on the snapshot; remove the intent
 *
 * A crash in 1 or 2 leaves a folder with a telling name, which `doctor --repair` removes by the intent; a crash in 3 or 4
 * leaves the target whole, and `worktree add` puts it on record. A rename onto an empty folder would replace it, so the
 * target must not exist; one that appears in the last instant and is not empty makes it fail.
 */
import { lstatSync, readdirSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { setImmediate } from "node:timers/promises";
import { HoldfastError, invalidArgument, ioError } from "../../../base/errors.js";
import { removeQuietly, replaceFile, syncFolder } from "../../../files/durable-file.js";
import { pinObjects } from "../collect/pins.js";
import { keptPath, type Layout } from "../layout.js";
import { entriesOf, readManifest } from "../manifest/manifest-reader.js";
import { addWorktree, checkPayload, type NewWorktree, type WorktreeRecord } from "../registry.js";
import { readSealedIfThere, sealText } from "../sealed-file.js";
import { writeHead } from "../snapshot/heads.js";
import { newSnapshotId } from "../snapshot/snapshot-id.js";
import { folderOf, getSnapshot, openObjects } from "../snapshot/snapshots.js";
import type { Site } from "../snapshot/take-snapshot.js";
import { systemError } from "../system-error.js";
import { syncTree } from "./sync-tree.js";
import { createTreeWriter, type TreeWriter } from "./write-tree.js";

export interface RestoreToNew {
  readonly snapshotId: string;
  readonly to: string;
  readonly name: string;
  readonly signal: AbortSignal | undefined;
  onProgress(files: number, bytes: number): void;
}

/** Paths as `keptPath` has them. */
interface RestoreIntent {
  readonly staged: string;
  readonly target: string;
}

/** Progress is told, and others get a turn, after so many entries or bytes. */
const BREATH = 200;
const BREATH_BYTES = 4 << 20;
const INTENT = /^new-[\w-]+\.json$/;

/** `E_PARTIAL_SNAPSHOT`, `E_INVALID_ARGUMENT` when the target or the name is taken, `E_STORE_CORRUPT`, `E_IO`. */
export async function restoreToNew({ layout, clock, threads }: Site, request: RestoreToNew): Promise<WorktreeRecord> {
  const target = resolve(layout.root, request.to);
  const info = getSnapshot(layout, request.snapshotId);
  if (lstatSync(target, { throwIfNoEntry: false }) !== undefined)
    throw invalidArgument("to", `${target} is there already: a restore makes a new folder`);
  checkPayload(layout, target, request.name);
  const parent = dirname(target);
  const id = newSnapshotId(clock().wallMs);
  const staged = join(parent, `.${basename(target)}.holdfast-${id}`);
  const intent = join(layout.restores, `new-${id}.json`);
  using _pin = await pinObjects(layout);
  let writer: TreeWriter | null = null;
  let record: WorktreeRecord;
  try {
    replaceFile(intent, Buffer.from(sealText(intentOf(layout, staged, target))), true);
    using reader = openObjects(layout);
    const manifest = readManifest(join(folderOf(layout, info.snapshot_id), "manifest"), info.payload_root_hash);
    writer = createTreeWriter(reader, staged, threads);
    let files = 0;
    let bytes = 0;
    let shownBytes = 0;
    for (const entry of entriesOf(reader, manifest)) {
      const isFull = writer.add(entry);
      if (isFull !== null) await isFull;
      files += 1;
      if (entry.kind === "file") bytes += entry.size;
      if (files % BREATH !== 0 && bytes - shownBytes < BREATH_BYTES) continue;
      shownBytes = bytes;
      request.signal?.throwIfAborted();
      request.onProgress(files, bytes);
      await setImmediate();
    }
    await writer.finish(() => entriesOf(reader, manifest));
    await syncTree(staged);
    request.onProgress(files, bytes);
    record = await addWorktree(layout, worktreeOf(request, target, info.snapshot_id, clock().wallMs), () => {
      publish(staged, target);
      writeHead(layout, request.name, info.snapshot_id, info.snapshot_id);
    });
  } catch (error) {
    await writer?.abandon();
    rmSync(staged, { recursive: true, force: true });
    removeQuietly(intent);
    throw systemError(error, "restore to", target);
  }
  removeQuietly(intent);
  return record;
}

function intentOf(layout: Layout, staged: string, target: string): RestoreIntent {
  // mutant: restore-intent-of-copy: staged: keptPath(layout, staged) → staged
  return { staged: keptPath(layout, staged), target: keptPath(layout, target) };
}

function worktreeOf({ name }: RestoreToNew, path: string, restoredFrom: string, wallMs: number): NewWorktree {
  return { name, path, mode: "exclusive", restoredFrom, wallMs };
}

function publish(staged: string, target: string): void {
  try {
    if (lstatSync(target, { throwIfNoEntry: false }) !== undefined)
      throw new HoldfastError("E_INVALID_ARGUMENT", `to: ${target} has appeared meanwhile`, {
        details: { field: "to" },
      });
    renameSync(staged, target);
    syncFolder(dirname(target));
  } catch (error) {
    throw ioError(error, "rename to", target);
  }
}

/** Intents of restores that died, while nobody uses objects: what they left in the making. */
export function leftByRestores(layout: Layout): { readonly intent: string; readonly staged: string }[] {
  return readdirSync(layout.restores)
    .filter((name) => INTENT.test(name))
    .map((name) => {
      const intent = join(layout.restores, name);
      const staged = readSealedIfThere<RestoreIntent>(intent)?.staged;
      return { intent, staged: staged === undefined ? "" : resolve(layout.root, staged) };
    });
}
