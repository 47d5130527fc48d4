/** Finds snapshots: by their folders alone, without a lock. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { HoldfastError, ioError, isHoldfastError } from "../../../base/errors.js";
import { isThere } from "../../../platform/look-up.js";
import type { Layout } from "../layout.js";
import { loadIndexParts } from "../objects/load-index.js";
import { createObjectIndex } from "../objects/object-index.js";
import { type ObjectReader, openObjectReader } from "../objects/object-reader.js";
import { readDescriptor, type SnapshotInfo } from "./descriptor.js";
import { isIdPart, isSnapshotId, parseSnapshotName } from "./snapshot-id.js";

export function folderOf(layout: Layout, id: string): string {
  return join(layout.taken, id);
}

/** All folders with the name of a snapshot, oldest first, complete or not. */
export function allIds({ taken }: Layout): string[] {
  try {
    return readdirSync(taken).filter(isSnapshotId).sort();
  } catch (error) {
    if (!isThere(taken)) return [];
    throw ioError(error, "list", taken);
  }
}

/** `E_NOT_FOUND`, `E_PARTIAL_SNAPSHOT`. */
export function getSnapshot(layout: Layout, id: string): SnapshotInfo {
  return readDescriptor(folderOf(layout, id), id);
}

/** Null when it is not there, or not complete. */
export function findSnapshot(layout: Layout, id: string): SnapshotInfo | null {
  try {
    return getSnapshot(layout, id);
  } catch (error) {
    if (isHoldfastError(error, "E_PARTIAL_SNAPSHOT")) return null;
    throw error;
  }
}

/** The complete ones, oldest first. */
export function listSnapshots(layout: Layout): SnapshotInfo[] {
  return parentsFirst(allIds(layout).flatMap((id) => findSnapshot(layout, id) ?? []));
}

/** Ids go by the calendar: when that was set back, a snapshot may have a lower one than what it comes from. */
function parentsFirst(found: readonly SnapshotInfo[]): SnapshotInfo[] {
  const left = new Map(found.map((each) => [each.snapshot_id, each]));
  return found.flatMap(({ snapshot_id }) => {
    const line: SnapshotInfo[] = [];
    for (let next = left.get(snapshot_id); next !== undefined; next = left.get(next.parent_id ?? "")) {
      line.push(next);
      left.delete(next.snapshot_id);
    }
    // mutant: tree-listed-by-calendar: return line.reverse(); → return line;
    return line.reverse();
  });
}

/**
 * The id that is meant by an id, by what one begins or ends with, or by a tag that only one snapshot has. What fits an id
 * is never taken for a tag. `E_NOT_FOUND`, `E_INVALID_ARGUMENT` when it fits several.
 */
export function resolveId(layout: Layout, text: string): string {
  const name = parseSnapshotName(text);
  const ids = idsLike(layout, name);
  const found = ids.length > 0 ? ids : idsTagged(layout, name);
  const [id] = found;
  if (id === undefined)
    throw new HoldfastError("E_NOT_FOUND", `there is no snapshot with the id or the tag ${name}`, {
      next: ["holdfast history"],
    });
  if (found.length > 1)
    throw new HoldfastError(
      "E_INVALID_ARGUMENT",
      `${name} ${ids.length > 0 ? "fits" : "is a tag of"} ${found.length} snapshots: ${found.slice(0, 5).join(", ")}`,
      {
        details: { field: "id", found },
        next: [ids.length > 0 ? "holdfast history" : `holdfast history --tag ${name}`],
      },
    );
  return id;
}

function idsLike(layout: Layout, part: string): string[] {
  if (!isIdPart(part)) return [];
  const ids = [...new Set([...allIds(layout), ...stagedIds(layout)])];
  return ids.includes(part) ? [part] : ids.filter((id) => id.startsWith(part) || id.endsWith(part));
}

function idsTagged(layout: Layout, tag: string): string[] {
  return listSnapshots(layout).flatMap(({ snapshot_id, tags }) => (tags.includes(tag) ? [snapshot_id] : []));
}

/** Those in the making, or left by a crash. */
function stagedIds({ staging }: Layout): string[] {
  return isThere(staging) ? readdirSync(staging).filter(isSnapshotId).sort() : [];
}

/** How many of the newest snapshots a new one looks for contents in; older contents are stored again rather than searched for. */
const NEWEST = 64;

/** The folders whose objects may be used: complete snapshots, and what gc keeps of removed ones. */
export function objectFolders(layout: Layout, { newest = false } = {}): string[] {
  const ids = newest ? allIds(layout).slice(-NEWEST) : allIds(layout);
  return ids
    .map((id) => folderOf(layout, id))
    .filter((folder) => isThere(join(folder, ".READY")) || isThere(join(folder, ".RETIRED")));
}

/** Opens all objects for reading. Pin them first. */
export function openObjects(layout: Layout): ObjectReader {
  return openObjectReader(createObjectIndex(loadIndexParts(objectFolders(layout))));
}
