/**
 * Verifies snapshots. Reads them whole and compares: `.READY` with the descriptor, that with manifest and list of the
 * skipped, the manifest with its pieces, and every object with its name. With all of them, also what no manifest names:
 * packs from their first byte to their last, heads, worktree records and caches. It goes on after a finding, and names
 * what it found.
 */
import { closeSync, openSync, readdirSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { HoldfastError } from "../../../base/errors.js";
import { isThere } from "../../../platform/look-up.js";
import { hashOfFile } from "../capture/hasher.js";
import { checkCache } from "../capture/stat-cache.js";
import type { Layout } from "../layout.js";
import { entriesOf, readManifest } from "../manifest/manifest-reader.js";
import { loadIndexParts } from "../objects/load-index.js";
import { createMarks } from "../objects/marks.js";
import { PACK_HEAD, RECORD_HEAD_BYTES } from "../objects/object-format.js";
import { createObjectIndex, type ObjectIndex } from "../objects/object-index.js";
import { type ObjectReader, openObjectReader } from "../objects/object-reader.js";
import { readSealedIfThere } from "../sealed-file.js";
import { systemError } from "../system-error.js";
import type { SnapshotInfo } from "./descriptor.js";
import { allIds, folderOf, getSnapshot, objectFolders } from "./snapshots.js";

export interface Finding {
  readonly snapshot_id: string | null;
  /** The file of the payload, or of the store, that it is about. */
  readonly path: string;
  readonly problem: string;
}

export interface Verdict {
  readonly ok: boolean;
  readonly snapshots: number;
  readonly objects: number;
  readonly bytes: number;
  readonly findings: readonly Finding[];
}

/** Null: everything there is. Pin the objects first. */
export async function verifySnapshots(layout: Layout, only: string | null, signal?: AbortSignal): Promise<Verdict> {
  const findings: Finding[] = [];
  const find = (snapshotId: string | null, path: string, error: unknown): void => {
    if (!(error instanceof HoldfastError)) throw error;
    findings.push({ snapshot_id: snapshotId, path, problem: error.message });
  };
  const folders = objectFolders(layout);
  const parts = loadIndexParts(folders, (error) => find(null, String(error.details.path), error));
  const index = createObjectIndex(parts);
  using reader = openObjectReader(index);
  const checker = createChecker(reader, find);

  const ids = only === null ? allIds(layout) : [only];
  for (const id of ids) {
    signal?.throwIfAborted();
    await setImmediate();
    const folder = folderOf(layout, id);
    if (only === null && isThere(join(folder, ".RETIRED"))) continue;
    try {
      await checker.checkSnapshot(folder, getSnapshot(layout, id));
    } catch (error) {
      find(id, folder, error);
    }
  }
  if (only === null) {
    await checker.checkPacks(index);
    checkRecords(layout, find);
    checkCaches(layout, find);
  }
  return { ok: findings.length === 0, snapshots: ids.length, objects: checker.objects, bytes: checker.bytes, findings };
}

type Find = (snapshotId: string | null, path: string, error: unknown) => void;

function createChecker(reader: ObjectReader, find: Find) {
  /** A mark for each object that was read: each is read once. */
  const seen = createMarks(reader.index.parts);
  const bad = new Map<string, HoldfastError>();
  const counted = { objects: 0, bytes: 0 };

  /** Throws what is wrong with it, each time it is asked for. */
  const checkObject = (sha256: string): void => {
    const known = bad.get(sha256);
    if (known !== undefined) throw known;
    try {
      const place = reader.place(sha256);
      if (seen.has(place)) return;
      for (const _piece of reader.pieces(sha256));
      seen.set(place);
      counted.objects += 1;
      counted.bytes += place.length;
    } catch (error) {
      if (error instanceof HoldfastError) bad.set(sha256, error);
      throw error;
    }
  };

  return {
    get objects() {
      return counted.objects;
    },
    get bytes() {
      return counted.bytes;
    },
    async checkSnapshot(folder: string, info: SnapshotInfo): Promise<void> {
      const id = info.snapshot_id;
      checkSkipped(info, join(folder, "skipped"), find);
      const manifest = readManifest(join(folder, "manifest"), info.payload_root_hash);
      let entries = 0;
      for (const entry of entriesOf(reader, manifest)) {
        entries += 1;
        if (entries % 500 === 0) await setImmediate();
        if (entry.kind !== "file") continue;
        try {
          checkObject(entry.sha256);
        } catch (error) {
          find(id, entry.path, error);
        }
      }
      for (const piece of manifest.pieces) checkObject(piece);
      if (entries !== info.entries)
        throw new HoldfastError("E_STORE_CORRUPT", `it has ${entries} entries instead of ${info.entries}`);
    },
    /** What lies between the objects, and objects that no snapshot names. */
    async checkPacks(index: ObjectIndex): Promise<void> {
      for (const [part, { folder, file }] of index.parts.entries()) {
        await setImmediate();
        let end = PACK_HEAD.length;
        let path = join(folder, file);
        for (const object of index.list(part)) {
          if (!object.isLarge) {
            path = object.path;
            end += RECORD_HEAD_BYTES + object.length;
          }
          if (seen.has(object) || bad.has(object.sha256)) continue;
          try {
            checkPlace(reader, object.sha256, object.part);
          } catch (error) {
            find(null, object.path, error);
          }
        }
        if (path !== join(folder, file)) checkPackEnds(path, end, find);
      }
    },
  };
}

function checkSkipped({ snapshot_id: id, skipped_hash: hash }: SnapshotInfo, path: string, find: Find): void {
  try {
    if (hashOfFile(path) !== hash)
      throw new HoldfastError("E_STORE_CORRUPT", "it does not have the hash that the descriptor names");
  } catch (error) {
    find(id, path, systemError(error, "read", path));
  }
}

/** An object that is there twice is read where it was found; the other copy is looked at here. */
function checkPlace(reader: ObjectReader, sha256: string, part: number): void {
  const [own] = reader.index.parts.slice(part, part + 1);
  using single = openObjectReader(createObjectIndex(own === undefined ? [] : [own]));
  for (const _piece of single.pieces(sha256));
}

function checkPackEnds(path: string, end: number, find: Find): void {
  try {
    if (statSync(path).size !== end)
      throw new HoldfastError("E_STORE_CORRUPT", "the pack has another length than its index says");
    if (!firstBytes(path).equals(PACK_HEAD)) throw new HoldfastError("E_STORE_CORRUPT", "the pack has another head");
  } catch (error) {
    find(
      null,
      path,
      error instanceof HoldfastError ? error : new HoldfastError("E_STORE_CORRUPT", `cannot be read: ${String(error)}`),
    );
  }
}

function firstBytes(path: string): Buffer {
  const fd = openSync(path, "r");
  try {
    const head = Buffer.alloc(PACK_HEAD.length);
    readSync(fd, head, 0, head.length, 0);
    return head;
  } finally {
    closeSync(fd);
  }
}

/** The small files of worktrees. */
export function checkRecords(layout: Layout, find: (snapshotId: null, path: string, error: Error) => void): void {
  for (const folder of [layout.base, layout.worktrees, layout.heads])
    for (const name of isThere(folder) ? readdirSync(folder) : []) {
      if (!name.endsWith(".json")) continue;
      try {
        readSealedIfThere(join(folder, name));
      } catch (error) {
        find(null, join(folder, name), error as Error);
      }
    }
}

function checkCaches(layout: Layout, find: Find): void {
  for (const name of isThere(layout.caches) ? readdirSync(layout.caches) : []) {
    const path = join(layout.caches, name);
    if (checkCache(path) === null)
      find(
        null,
        path,
        new HoldfastError("E_STORE_CORRUPT", "the cache does not fit its checksum; it is not used, and may be removed"),
      );
  }
}
