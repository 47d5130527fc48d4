/**
 * Writes entries of a manifest below a folder that is new and its own, files in a few threads: those of one folder in
 * one thread where possible, since the system lets only one at a time make a file in a folder. They come in the order
 * of the walk, so only the folders around the current entry are known; hard links, and the modes and times of folders,
 * take another pass through the manifest. Nothing is followed: every folder of an entry was made by this very run, so a
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
import { HoldfastError } from "../../../base/errors.js";
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
import { createCrew, threadCount } from "../thread-group.js";
import { timeOf } from "./times.js";
import type { WriteJob, WriteSetup } from "./write.thread.js";

export interface TreeWriter {
  /** Null, or what to wait for before more is added. */
  add(entry: Entry): Promise<void> | null;
  /** Waits for the threads, makes the hard links, and gives the folders their modes and times: from the same entries. */
  finish(entries: () => Iterable<Entry>): Promise<void>;
  abandon(): Promise<void>;
}

/** Up to here no thread is started. */
const FEW_FILES = 64;

export function createTreeWriter(reader: ObjectReader, root: string, threads: number | null): TreeWriter {
  const most = threadCount(threads);
  const crew = createCrew<WriteSetup, WriteJob, null>(
    new URL("./write.thread.js", import.meta.url),
    () => ({ parts: reader.index.parts }),
    most,
    () => undefined,
  );
  const around = createFoldersAround(() => undefined);
  let hasLinks = false;
  let files = 0;

  return {
    add(entry) {
      // mutant: restore-through-links: around.enter(entry); →
      around.enter(entry);
      const full = join(root, entry.path);
      switch (entry.kind) {
        case "folder":
          mkdirSync(full, { mode: 0o700 });
          return null;
        case "file":
          files += 1;
          if (most > 0 && files > FEW_FILES) return crew.add({ entry, full }, entry.size, parentOf(entry.path));
          writeFileEntry(reader, entry, full);
          return null;
        case "symlink":
          writeLink(entry, full);
          return null;
        case "hardlink":
          hasLinks = true;
          return null;
      }
    },
    async finish(entries) {
      await crew.drain();
      await crew.finish();
      if (hasLinks)
        for (const entry of entries()) if (entry.kind === "hardlink") linkInside(root, join(root, entry.path), entry);
      const left = createFoldersAround((folder) => setFolder(join(root, folder.path), folder));
      for (const entry of entries()) left.enter(entry);
      left.leaveAll();
    },
    abandon: () => crew.abandon(),
  };
}

/** The folders the current entry lies in; told when one is left, so the deepest first: it may forbid what is done in it. */
function createFoldersAround(onLeave: (folder: FolderEntry) => void) {
  const folders: FolderEntry[] = [];
  const leaveUntil = (isThere: (folder: FolderEntry) => boolean): void => {
    for (let last = folders.at(-1); last !== undefined && !isThere(last); last = folders.at(-1)) {
      folders.pop();
      onLeave(last);
    }
  };
  return {
    enter(entry: Entry): void {
      const parent = parentOf(entry.path);
      if (entry.path !== "") leaveUntil(({ path }) => path === parent);
      if (folders.length === 0 && entry.path !== "") throw astray(entry);
      if (entry.kind === "folder") folders.push(entry);
    },
    leaveAll: () => leaveUntil(() => false),
  };
}

export function writeFileEntry(
  reader: ObjectReader,
  { sha256, size, mode, mtimeUs, hasHoles }: FileEntry,
  full: string,
): void {
  const { length } = reader.place(sha256);
  if (length !== size)
    throw new HoldfastError("E_STORE_CORRUPT", `object ${sha256} has ${length} bytes, and the manifest says ${size}`);
  const isCloned = reader.cloneTo(sha256, full);
  const how = isCloned ? constants.O_RDONLY : constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;
  const fd = openSync(full, how | constants.O_NOFOLLOW, 0o600);
  try {
    if (!isCloned) writeContent(reader, sha256, fd, hasHoles);
    if (hasHoles && !isCloned) ftruncateSync(fd, size);
    fchmodSync(fd, mode);
    futimesSync(fd, timeOf(mtimeUs), timeOf(mtimeUs));
  } finally {
    closeSync(fd);
  }
}

function writeContent(reader: ObjectReader, sha256: string, fd: number, hasHoles: boolean): void {
  let at = 0;
  for (const piece of reader.pieces(sha256)) {
    writePiece(fd, piece, at, hasHoles);
    at += piece.length;
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
function linkInside(root: string, full: string, entry: HardLinkEntry): void {
  const names = entry.to.split("/");
  for (let count = 1; count <= names.length; count += 1) {
    const stats = lstatSync(join(root, ...names.slice(0, count)), { throwIfNoEntry: false });
    if (stats === undefined || !(count < names.length ? stats.isDirectory() : stats.isFile())) throw astray(entry);
  }
  linkSync(join(root, entry.to), full);
}

function astray(entry: Entry): HoldfastError {
  return new HoldfastError("E_STORE_CORRUPT", `the manifest has ${JSON.stringify(entry.path)} where it cannot be`);
}
