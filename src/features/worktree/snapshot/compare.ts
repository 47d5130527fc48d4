/** Compares two snapshots. Acquires no lock; reads only the pieces that differ. */
import { join } from "node:path";
import type { Layout } from "../layout.js";
import { type Entry, isSameEntry } from "../manifest/entry.js";
import { readManifest } from "../manifest/manifest-reader.js";
import { pairsOf } from "../manifest/pairs.js";
import type { ObjectReader } from "../objects/object-reader.js";
import { folderOf, getSnapshot } from "./snapshots.js";

export interface Difference {
  readonly change: "added" | "removed" | "changed" | "metadata";
  readonly path: string;
  readonly kind: Entry["kind"];
  readonly size_before: number | null;
  readonly size_after: number | null;
}

/** In the order of paths. `metadata`: the content is the same, mode or time is not. Times of folders are left out. */
export function* compare(layout: Layout, reader: ObjectReader, before: string, after: string): Generator<Difference> {
  for (const { before: one, after: other } of pairsOf(reader, manifestOf(layout, before), manifestOf(layout, after))) {
    if (other === null) yield difference("removed", one, one, null);
    else if (one === null) yield difference("added", other, null, other);
    else if (!isSameContent(one, other)) yield difference("changed", other, one, other);
    else if (!isSameEntry(one, other) && !isOnlyTouched(one, other)) yield difference("metadata", other, one, other);
  }
}

export function manifestOf(layout: Layout, id: string) {
  const { payload_root_hash: rootHash } = getSnapshot(layout, id);
  return readManifest(join(folderOf(layout, id), "manifest"), rootHash);
}

/** Kind and content, whatever mode and time. */
export function isSameContent(a: Entry, b: Entry): boolean {
  if (a.kind === "folder") return b.kind === "folder";
  if (a.kind === "file") return b.kind === "file" && a.sha256 === b.sha256 && a.hasHoles === b.hasHoles;
  if (a.kind === "symlink") return b.kind === "symlink" && a.target === b.target;
  return b.kind === "hardlink" && a.to === b.to;
}

/** The time of a folder changes with what is in it, which is told already. */
function isOnlyTouched(a: Entry, b: Entry): boolean {
  return a.kind === "folder" && b.kind === "folder" && a.mode === b.mode;
}

function difference(
  change: Difference["change"],
  { path, kind }: Entry,
  before: Entry | null,
  after: Entry | null,
): Difference {
  return { change, path, kind, size_before: sizeOf(before), size_after: sizeOf(after) };
}

function sizeOf(entry: Entry | null): number | null {
  return entry?.kind === "file" ? entry.size : null;
}
