/**
 * Takes a snapshot.
 *
 *   1  pin       the objects, so that gc removes none; stored contents are looked up only after that
 *   2  intent    staging/ID/ with intent.json
 *   3  stage     walk, hash, store: packs, large objects, manifest, list of the skipped, cache; each synced once
 *   4  look      the second walk: quiesced or E_CONSISTENCY_UNAVAILABLE
 *   5  ready     descriptor, then .READY, synced; the intent removed; the folder synced
 *   6  publish   one step under the guard that every requester of the lock needs too: lease and fence are checked; the head
 *                names the new snapshot; staging/ID is renamed to taken/ID; both folders are synced; the audit entry is written
 *   7  cache     becomes the worktree's cache
 *
 * A crash before the rename in 6 leaves a folder in staging/ that no list shows, and that gc, doctor or the next snapshot of
 * the worktree removes; the head still means the snapshot before, because the one that it names is not there. A crash after
 * the rename leaves a complete snapshot that is the head, with an older cache, which is still valid; the cache in staging/
 * shows that the audit entry may be missing, and the next snapshot of the worktree, or doctor, adds it (late-entries.ts). A
 * stale token fails in 6 before anything is renamed, and the staged files are removed.
 *
 * Not promised: that a program that does not hold the lock leaves the payload as it is; its writes are noticed.
 *
 * protocol: snapshot intent
 */
import { readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { HoldfastError, ioError, isHoldfastError } from "../../../base/errors.js";
import { removeQuietly, replaceFile, syncFolder } from "../../../files/durable-file.js";
import type { Clock } from "../../../platform/clock.js";
import { makeFolder } from "../../../platform/folder-rights.js";
import { isThere } from "../../../platform/look-up.js";
import { type Captured, capture } from "../capture/capture.js";
import { readIgnoreRules } from "../capture/ignore-rules.js";
import { checkCache } from "../capture/stat-cache.js";
import { claimObjects, pinObjects } from "../collect/pins.js";
import type { Layout } from "../layout.js";
import { loadIndexParts } from "../objects/load-index.js";
import { payloadOf, type WorktreeRecord } from "../registry.js";
import { sealText } from "../sealed-file.js";
import { systemError } from "../system-error.js";
import { type ConsistencyLevel, type Descriptor, ENGINE, type SnapshotInfo, writeDescriptor } from "./descriptor.js";
import { readHead, writeHead } from "./heads.js";
import { type Teller, taleOf, tellLate, unfinishedIn } from "./late-entries.js";
import { newSnapshotId } from "./snapshot-id.js";
import { findSnapshot, folderOf, objectFolders } from "./snapshots.js";

/** What a verb works with. */
export interface Site {
  readonly layout: Layout;
  readonly clock: Clock;
  readonly owner: string;
  /** Threads that hash; null: as many as are good here, 0: none. */
  readonly threads: number | null;
}

/** Runs a step under the guard, checked, and told when an event is named. */
export interface Committer {
  readonly fencingToken: number | null;
  commit<T>(write: () => T, event: "snapshot" | "restore" | null, details: Record<string, unknown>): Promise<T>;
  /** Whether the audit chain has the entry of this snapshot. */
  hasTold(snapshotId: string): Promise<boolean>;
}

export interface TakeRequest {
  readonly worktree: WorktreeRecord;
  readonly level: ConsistencyLevel;
  readonly kind: Descriptor["kind"];
  readonly note: string;
  readonly tags: readonly string[];
  readonly signal: AbortSignal | undefined;
  onProgress(files: number, bytes: number): void;
}

export interface Taken {
  readonly info: SnapshotInfo;
  /** Files that had to be read; the others were known. */
  readonly filesRead: number;
}

/** `E_CONSISTENCY_UNAVAILABLE`, `E_FENCING_MISMATCH`, `E_LOCK_EXPIRED`, `E_LOCK_NOT_HELD`, `E_IO`, `E_COMMIT_UNCERTAIN`. */
export async function take(site: Site, request: TakeRequest, committer: Committer): Promise<Taken> {
  const { layout } = site;
  await tidyStaging(layout, { name: request.worktree.worktree_id, committer });
  // mutant: snapshot-pin: using _pin = await pinObjects(layout); →
  using _pin = await pinObjects(layout);
  const id = newSnapshotId(site.clock().wallMs);
  const folder = join(layout.staging, id);
  makeFolder(folder);
  try {
    announce(folder, id, request.worktree, site);
    const captured = await stage(site, request, id, folder);
    const parent = readHead(layout, request.worktree.worktree_id);
    const descriptor = describe(site, request, id, parent, captured, committer.fencingToken);
    removeQuietly(join(folder, "intent.json"));
    renameSync(join(folder, "cache"), join(layout.staging, `${id}.cache`));
    const info = writeDescriptor(folder, descriptor);
    syncFolder(folder);
    await committer.commit(() => publish(layout, info), "snapshot", taleOf(info));
    keepCache(layout, id, request.worktree.worktree_id);
    return { info, filesRead: captured.read };
  } catch (error) {
    discard(layout, id);
    throw systemError(error, "take a snapshot in", folder);
  }
}

function announce(folder: string, id: string, worktree: WorktreeRecord, { clock, owner }: Site): void {
  const begunAt = new Date(clock().wallMs).toISOString();
  const intent = { snapshot_id: id, worktree_id: worktree.worktree_id, owner, begun_at: begunAt };
  // Not synced: what a power cut takes of a folder in staging/ nobody misses.
  replaceFile(join(folder, "intent.json"), Buffer.from(sealText(intent)), false);
}

async function stage(site: Site, request: TakeRequest, snapshotId: string, folder: string): Promise<Captured> {
  const { layout, clock, threads } = site;
  const payload = payloadOf(layout, request.worktree);
  return capture({
    place: { payload, except: [layout.home], rules: readIgnoreRules(payload) },
    folder,
    snapshotId,
    cache: trustedCache(layout, request.worktree.worktree_id),
    parts: loadIndexParts(objectFolders(layout, { newest: true }), () => undefined),
    clock,
    threads,
    mustBeQuiet: request.level === "quiesced",
    signal: request.signal,
    onProgress: request.onProgress,
  });
}

/** A cache vouches for contents only while the snapshot that keeps them is there. */
function trustedCache(layout: Layout, worktree: string): string | null {
  const path = join(layout.caches, worktree);
  const snapshotId = checkCache(path);
  return snapshotId !== null && findSnapshot(layout, snapshotId) !== null ? path : null;
}

function describe(
  { clock, owner }: Site,
  { worktree, level, kind, note, tags }: TakeRequest,
  id: string,
  parent: string | null,
  captured: Captured,
  fencingToken: number | null,
): Descriptor {
  return {
    schema_version: 1,
    snapshot_id: id,
    parent_id: parent,
    worktree_id: worktree.worktree_id,
    worktree_mode: worktree.mode,
    kind,
    created_at: new Date(clock().wallMs).toISOString(),
    owner,
    note,
    tags,
    consistency_level: level,
    fencing_token: fencingToken,
    engine: ENGINE,
    entries: captured.entries,
    bytes: captured.bytes,
    skipped: captured.skipped,
    skipped_hash: captured.skippedHash,
    payload_root_hash: captured.rootHash,
  };
}

/** Under the guard. Never replaces: a snapshot of that id would be this one. */
function publish(layout: Layout, { snapshot_id: id, worktree_id: worktree, parent_id: parent }: SnapshotInfo): void {
  const from = join(layout.staging, id);
  const to = folderOf(layout, id);
  if (isThere(to)) throw new HoldfastError("E_IO", `${to} is there already`, { details: { path: to } });
  writeHead(layout, worktree, id, parent);
  renameSync(from, to);
  try {
    syncFolder(layout.taken);
    syncFolder(layout.staging);
  } catch (cause) {
    throw new HoldfastError("E_COMMIT_UNCERTAIN", `snapshot ${id} is there, but perhaps not yet on the disk`, {
      cause,
      details: { snapshot_id: id },
      next: [`holdfast verify ${id}`],
    });
  }
}

function keepCache(layout: Layout, id: string, worktree: string): void {
  const cache = join(layout.caches, worktree);
  try {
    renameSync(join(layout.staging, `${id}.cache`), cache);
  } catch (error) {
    throw ioError(error, "replace the cache", cache);
  }
}

/** After a failure: nothing stays, unless it was published after all. Then the next one looks for its audit entry. */
function discard(layout: Layout, id: string): void {
  rmSync(join(layout.staging, id), { recursive: true, force: true });
  if (findSnapshot(layout, id) === null) removeQuietly(join(layout.staging, `${id}.cache`));
}

/**
 * Removes what snapshots left that died. While another one runs nothing is: whose is whose cannot be told. Of the worktree
 * whose committer is given, audit entries that are missing are added first; those of others are left for them.
 */
export async function tidyStaging(layout: Layout, teller: Teller | null): Promise<readonly string[]> {
  if (readdirSync(layout.staging).length === 0) return [];
  let claim: Disposable;
  try {
    claim = await claimObjects(layout, 0);
  } catch (error) {
    if (isHoldfastError(error, "E_LOCK_CONFLICT")) return [];
    throw error;
  }
  using _claim = claim;
  // mutant: tree-late-entry: if (teller !== null) await tellLate(layout, teller); →
  if (teller !== null) await tellLate(layout, teller);
  const left = unfinishedIn(layout);
  for (const name of left) rmSync(join(layout.staging, name), { recursive: true, force: true });
  return left;
}
