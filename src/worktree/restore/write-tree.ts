/**
 * Writes entries of a manifest below a folder that is new and its own, files in a few threads. Memory grows with the number
 * of folders and hard links only. Nothing is followed: every folder an entry lies in was made by this very run, so a
 * crafted manifest cannot lead out of the tree.
 */
import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  ftruncateSync,
  futimesSync,
  linkSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  openSync,
  symlinkSync,
  utimesSync,
} from "node:fs";
import { join } from "node:path";
import { HoldfastError } from "../../support/errors.js";
import { writePiece } from "../capture/hasher.js";
import {
  type Entry,
  type FileEntry,
  type FolderEntry,
  type HardLinkEntry,
  type LinkEntry,
  parentOf,
} from "../manifest/entry.js";
import type { ObjectReader } from "../objects/object-reader.js";
import { createCrew, threadCount } from "../threads.js";
import { timeOf } from "./times.js";
import type { WriteJob, WriteSetup } from "./write-thread.js";

export interface TreeWriter {
  /** Null, or what to wait for before more is added. */
  add(entry: Entry): Promise<void> | null;
  /** Waits for the threads, makes the hard links, and gives the folders their modes and times. */
  finish(): Promise<void>;
  abandon(): Promise<void>;
}

/** Up to here no thread is started. */
const FEW_FILES = 64;

export function createTreeWriter(reader: ObjectReader, root: string, threads: number | null): TreeWriter {
  const most = threadCount(threads);
  const crew = createCrew<WriteSetup, WriteJob, null>(
    new URL("./write-thread.js", import.meta.url),
    () => ({ parts: reader.index.parts }),
    most,
    () => undefined,
  );
  /** All get their modes and times at the end, the deepest first: a folder may forbid what is still to be done in it. */
  const folders: FolderEntry[] = [];
  const made = new Set<string>();
  const links: HardLinkEntry[] = [];
  let files = 0;

  return {
    add(entry) {
      if (entry.path !== "" && !made.has(parentOf(entry.path))) throw astray(entry);
      const full = join(root, entry.path);
      switch (entry.kind) {
        case "folder":
          mkdirSync(full, { mode: 0o700 });
          folders.push(entry);
          made.add(entry.path);
          return null;
        case "file":
          files += 1;
          if (most > 0 && files > FEW_FILES) return crew.add({ entry, full }, entry.size);
          writeFileEntry(reader, entry, full);
          return null;
        case "symlink":
          writeLink(entry, full);
          return null;
        case "hardlink":
          links.push(entry);
          return null;
      }
    },
    async finish() {
      await crew.drain();
      await crew.finish();
      for (const link of links) linkInside(root, link.to, join(root, link.path), link);
      for (const folder of folders.reverse()) setFolder(join(root, folder.path), folder);
    },
    abandon: () => crew.abandon(),
  };
}

export function writeFileEntry(
  reader: ObjectReader,
  { sha256, size, mode, mtimeUs, hasHoles }: FileEntry,
  full: string,
): void {
  const fd = openSync(full, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o600);
  try {
    let at = 0;
    for (const piece of reader.pieces(sha256)) {
      writePiece(fd, piece, at, hasHoles);
      at += piece.length;
    }
    if (at !== size)
      throw new HoldfastError("E_STORE_CORRUPT", `object ${sha256} has ${at} bytes, and the manifest says ${size}`);
    if (hasHoles) ftruncateSync(fd, size);
    fchmodSync(fd, mode);
    futimesSync(fd, timeOf(mtimeUs), timeOf(mtimeUs));
  } finally {
    closeSync(fd);
  }
}

export function writeLink({ target, mtimeUs }: LinkEntry, full: string): void {
  symlinkSync(target, full);
  lutimesSync(full, timeOf(mtimeUs), timeOf(mtimeUs));
}

function setFolder(full: string, { mode, mtimeUs }: Pick<FolderEntry, "mode" | "mtimeUs">): void {
  chmodSync(full, mode);
  utimesSync(full, timeOf(mtimeUs), timeOf(mtimeUs));
}

/** Hard links only to a regular file, through folders that are folders. */
function linkInside(root: string, to: string, full: string, entry: Entry): void {
  const names = to.split("/");
  for (let count = 1; count <= names.length; count += 1) {
    const stats = lstatSync(join(root, ...names.slice(0, count)), { throwIfNoEntry: false });
    if (stats === undefined || !(count < names.length ? stats.isDirectory() : stats.isFile())) throw astray(entry);
  }
  linkSync(join(root, to), full);
}

function astray(entry: Entry): HoldfastError {
  return new HoldfastError("E_STORE_CORRUPT", `the manifest has ${JSON.stringify(entry.path)} where it cannot be`);
}
