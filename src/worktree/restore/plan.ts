/**
 * From the rescue snapshot to the wanted one: which steps lead from what is there to what shall be, and the new files,
 * written beside the payload. Nothing in the payload is touched here. Memory grows with what differs, not with the tree.
 *
 * The phases come in this order, so that a step never meets what a later one made: open folders, put files away, remove
 * folders, make folders, put files, link, then modes and times of files, and of folders from the deepest up.
 */
import { lstatSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { HoldfastError } from "../../support/errors.js";
import { openCacheLookup } from "../capture/stat-cache.js";
import { isSameContent } from "../compare.js";
import { type Entry, isSameEntry, parentOf } from "../manifest/entry.js";
import type { Manifest } from "../manifest/manifest-reader.js";
import { pairsOf } from "../manifest/pairs.js";
import type { ObjectReader } from "../objects/object-reader.js";
import type { Place, Step } from "./journal.js";
import { writeFileEntry, writeLink } from "./write-tree.js";

export interface PlanRequest {
  readonly reader: ObjectReader;
  readonly now: Manifest;
  readonly wanted: Manifest;
  /** The cache that the rescue snapshot left: the evidence of what it saved. */
  readonly cache: string;
  readonly place: Place;
  onProgress(files: number, bytes: number): void;
}

type Op = Step["op"];
const PHASES: readonly Op[] = ["open", "away", "rmdir", "mkdir", "put", "link", "file", "symlink", "folder"];

export async function plan(request: PlanRequest): Promise<Step[]> {
  const { reader, now, wanted, place } = request;
  const steps = new Map<Op, Step[]>(PHASES.map((op) => [op, []]));
  const add = (step: Step): void => void steps.get(step.op)?.push(step);
  /** Folders in which something changes: they are opened first, and get their times again at the end. */
  const touched = new Set<string>();
  const folders = new Map<string, Entry>();
  const replaced = new Set<string>();
  const links: { readonly path: string; readonly to: string; readonly was: string | null; readonly isNew: boolean }[] =
    [];
  let n = 0;
  let files = 0;
  let bytes = 0;
  using evidence = openCacheLookup(request.cache);
  mkdirSync(join(place.stage, "new"), { recursive: true });
  mkdirSync(join(place.stage, "old"), { recursive: true });

  const stageNew = (entry: Entry, was: string | null): void => {
    n += 1;
    const fresh = join(place.stage, "new", String(n));
    if (entry.kind === "file") {
      writeFileEntry(reader, entry, fresh);
      bytes += entry.size;
    } else if (entry.kind === "symlink") writeLink(entry, fresh);
    files += 1;
    replaced.add(entry.path);
    touched.add(parentOf(entry.path));
    add({ op: "put", path: entry.path, n, was });
  };

  for (const { before, after } of pairsOf(reader, now, wanted, { all: true })) {
    const path = (before ?? after)?.path ?? "";
    const was = before === null ? null : (evidence.find(path)?.evidence ?? null);
    if (files % 100 === 99) {
      request.onProgress(files, bytes);
      await setImmediate();
    }
    if (before?.kind === "folder" && after?.kind === "folder") {
      folders.set(path, after);
      if (!isSameEntry(before, after)) touched.add(path);
      continue;
    }
    if (before !== null && after?.kind !== before.kind) {
      n += 1;
      touched.add(parentOf(path));
      add(before.kind === "folder" ? { op: "rmdir", path } : { op: "away", path, n, was });
    }
    if (after === null) continue;
    if (after.kind === "hardlink") {
      links.push({ path, to: after.to, was, isNew: before === null || !isSameContent(before, after) });
      continue;
    }
    if (after.kind === "folder") {
      n += 1;
      folders.set(path, after);
      touched.add(parentOf(path));
      touched.add(path);
      add({ op: "mkdir", path, n });
    } else if (before === null || !isSameContent(before, after))
      stageNew(after, before?.kind === after.kind ? was : null);
    else if (!isSameEntry(before, after)) {
      if (after.kind === "file") add({ op: "file", path, mode: after.mode, mtime_us: after.mtimeUs });
      else add({ op: "symlink", path, mtime_us: after.mtimeUs });
    }
  }
  for (const { path, to, was, isNew } of links) {
    if (!isNew && !replaced.has(to)) continue;
    n += 1;
    touched.add(parentOf(path));
    add({ op: "link", path, n, to, was });
  }
  for (const path of touched) {
    if (lstatSync(join(place.payload, path), { throwIfNoEntry: false })?.isDirectory()) add({ op: "open", path });
    const folder = folders.get(path);
    if (folder?.kind === "folder") add({ op: "folder", path, mode: folder.mode, mtime_us: folder.mtimeUs });
  }
  checkDevice(place, touched);
  steps.get("rmdir")?.reverse();
  steps
    .get("folder")
    ?.sort((a, b) => b.path.split("/").length - a.path.split("/").length || (a.path < b.path ? 1 : -1));
  return PHASES.flatMap((op) => steps.get(op) ?? []);
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
