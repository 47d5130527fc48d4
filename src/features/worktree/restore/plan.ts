/**
 * Plans a restore in place, from the rescue snapshot to the wanted one: the steps that lead from the present state to
 * the wanted state, and the new files, written beside the payload. Nothing in the payload is touched here. The
 * manifests are read side by side: once for files and folders, again for hard links, which depend on the state of the
 * file they lead to, and once more for the folders in which something changes. Only the paths of those are kept in
 * memory.
 */
import { hash } from "node:crypto";
import { lstatSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { HoldfastError } from "../../../base/errors.js";
import { openCacheLookup } from "../capture/stat-cache.js";
import { type FileEntry, isSameEntry, type LinkEntry, parentOf } from "../manifest/entry.js";
import { entriesOf, type Manifest } from "../manifest/manifest-reader.js";
import { type Pair, pairsOf } from "../manifest/pairs.js";
import { createBloom } from "../objects/bloom.js";
import type { ObjectReader } from "../objects/object-reader.js";
import { isSameContent } from "../snapshot/compare.js";
import type { Place } from "./journal.js";
import type { StepWriter } from "./steps.js";
import { writeFileEntry, writeLink } from "./write-tree.js";

export interface PlanRequest {
  readonly reader: ObjectReader;
  readonly now: Manifest;
  readonly wanted: Manifest;
  /** The cache that the rescue snapshot left: the evidence of what it saved. */
  readonly cache: string;
  readonly place: Place;
  readonly steps: StepWriter;
  onProgress(files: number, bytes: number): void;
}

/** A mebibyte: with a million replaced files one link in a hundred is looked at in vain. */
const REPLACED_BITS = 1 << 23;
/** Others get a turn after so many entries. */
const BREATH = 1_000;

/** What is known while the steps are found. */
interface Findings {
  /** Folders in which something changes: they are opened first, and get their times again at the end. */
  readonly touched: Set<string>;
  replace(path: string): void;
  /** True also for some that are not: linking them again changes nothing. */
  mayBeReplaced(path: string): boolean;
  hasLinks: boolean;
  /** The number of the next file in `new/` and `old/`. */
  nextNumber(): number;
}

export async function plan(request: PlanRequest): Promise<void> {
  const { reader, wanted, place, steps } = request;
  for (const name of ["new", "old"]) mkdirSync(join(place.stage, name), { recursive: true });
  const found = createFindings();
  await planEntries(request, found);
  if (found.hasLinks) await planLinks(request, found);
  for (const path of found.touched)
    if (lstatSync(join(place.payload, path), { throwIfNoEntry: false })?.isDirectory()) steps.add({ op: "open", path });
  if (found.touched.size > 0)
    for (const entry of entriesOf(reader, wanted))
      if (entry.kind === "folder" && found.touched.has(entry.path))
        steps.add({ op: "folder", path: entry.path, mode: entry.mode, mtime_us: entry.mtimeUs });
  checkDevice(place, found.touched);
}

function createFindings(): Findings {
  const replaced = createBloom(REPLACED_BITS);
  const named = (path: string): Buffer => hash("sha256", path, "buffer");
  let number = 0;
  return {
    touched: new Set(),
    replace: (path) => replaced.add(named(path)),
    mayBeReplaced: (path) => replaced.mayHave(named(path)),
    hasLinks: false,
    nextNumber() {
      number += 1;
      return number;
    },
  };
}

/** Both manifests side by side, with the evidence of what is there now. */
async function forEachPair(
  { reader, now, wanted, cache }: PlanRequest,
  visit: (pair: Pair, path: string, was: string | null) => void,
): Promise<void> {
  using evidence = openCacheLookup(cache);
  let count = 0;
  for (const pair of pairsOf(reader, now, wanted, { all: true })) {
    const path = (pair.before ?? pair.after)?.path ?? "";
    visit(pair, path, pair.before === null ? null : (evidence.find(path)?.evidence ?? null));
    count += 1;
    if (count % BREATH === 0) await setImmediate();
  }
}

async function planEntries(request: PlanRequest, found: Findings): Promise<void> {
  const { reader, place, steps } = request;
  const { touched } = found;
  let files = 0;
  let bytes = 0;
  const stageNew = (entry: FileEntry | LinkEntry, was: string | null): void => {
    const n = found.nextNumber();
    const fresh = join(place.stage, "new", String(n));
    if (entry.kind === "file") {
      writeFileEntry(reader, entry, fresh);
      bytes += entry.size;
    } else writeLink(entry, fresh);
    files += 1;
    if (files % 100 === 0) request.onProgress(files, bytes);
    found.replace(entry.path);
    touched.add(parentOf(entry.path));
    steps.add({ op: "put", path: entry.path, n, was });
  };

  await forEachPair(request, ({ before, after }, path, was) => {
    if (before?.kind === "folder" && after?.kind === "folder") {
      if (!isSameEntry(before, after)) touched.add(path);
      return;
    }
    if (before !== null && after?.kind !== before.kind) {
      touched.add(parentOf(path));
      steps.add(before.kind === "folder" ? { op: "rmdir", path } : { op: "away", path, n: found.nextNumber(), was });
    }
    if (after === null) return;
    if (after.kind === "hardlink") found.hasLinks = true;
    else if (after.kind === "folder") {
      touched.add(parentOf(path));
      touched.add(path);
      steps.add({ op: "mkdir", path, n: found.nextNumber() });
    } else if (before === null || !isSameContent(before, after))
      stageNew(after, before?.kind === after.kind ? was : null);
    else if (!isSameEntry(before, after)) {
      if (after.kind === "file") steps.add({ op: "file", path, mode: after.mode, mtime_us: after.mtimeUs });
      else steps.add({ op: "symlink", path, mtime_us: after.mtimeUs });
    }
  });
}

/** A link is made anew when it is new, or the file it leads to is. */
async function planLinks(request: PlanRequest, found: Findings): Promise<void> {
  await forEachPair(request, ({ before, after }, path, was) => {
    if (after?.kind !== "hardlink") return;
    // mutant: tree-replaced-links: , after) && !found.mayBeReplaced(after.to)) return; → , after)) return;
    if (before !== null && isSameContent(before, after) && !found.mayBeReplaced(after.to)) return;
    found.touched.add(parentOf(path));
    request.steps.add({ op: "link", path, n: found.nextNumber(), to: after.to, was });
  });
}

/** A rename does not lead from one file system to another: better known before than in the middle. */
function checkDevice({ payload, stage }: Place, folders: Iterable<string>): void {
  const { dev } = lstatSync(stage);
  for (const folder of folders) {
    const stats = lstatSync(join(payload, folder), { throwIfNoEntry: false });
    if (stats?.isDirectory() && stats.dev !== dev)
      throw new HoldfastError(
        "E_CROSS_DEVICE",
        `${join(payload, folder)} is on another file system than ${dirname(stage)}`,
        {
          next: ["Restore to a new folder with --to instead."],
        },
      );
  }
}
