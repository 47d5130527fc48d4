/**
 * The stage: a private folder in which the new tree is made. The caller may write there by any means (`path`), or hand
 * streams to `write`, which hashes the content while it is being written and begins to sync it while the next file
 * arrives. What `write` knows of a file is used later if the file is still the same; only so many are remembered, the
 * others are read again, so memory does not grow with the tree.
 *
 * `write` follows no link out of the stage. Not promised: that a program which exchanges a folder of the stage for a link
 * while `write` opens a file there makes nothing outside. It can make an empty file or folder; the content stays inside
 * wherever the system tells which file was opened (Linux with /proc).
 */
import { closeSync, fchmodSync, fstatSync, mkdirSync } from "node:fs";
import { dirname, join, normalize, sep } from "node:path";
import { checkOptions, type OptionNames } from "../../../base/check-options.js";
import { invalidArgument, ioError } from "../../../base/errors.js";
import { Pool } from "../../../base/pool.js";
import { type Content, type Poured, pour, syncAndClose } from "../file-work.js";
import type { Tell } from "../options.js";
import { InsideStage } from "./inside-stage.js";

/** Files being synced at a time: also the limit of open ones. */
const WIDTH = 16;
const REMEMBERED = 4_096;
const KNOWN_FOLDERS = 1_024;

export type StageSource = Content;

export interface Stage {
  /** Write here what you like: it becomes the target. */
  readonly path: string;
  /** Aborts when the lease is lost: stop, nothing will be published. Null for a borrowed lease. */
  readonly signal: AbortSignal | null;
  /** Writes one file. Folders on the way are made. Resolves when it is written; it is synced meanwhile. */
  write(name: string, content: StageSource, options?: { readonly mode?: number }): Promise<void>;
}

const WRITE: OptionNames<{ readonly mode?: number }> = { mode: true };

/** What is known of a file as long as it is the same. */
interface Written {
  readonly identity: string;
  readonly sha256: string;
}

export interface OpenStage extends Stage {
  readonly written: ReadonlyMap<string, Written>;
  /** Waits for what is under way. Throws what failed. */
  settle(): Promise<void>;
}

export function openStage(path: string, signal: AbortSignal | null, tell: Tell): OpenStage {
  const pool = new Pool(WIDTH);
  const written = new Map<string, Written>();
  const folders = new Set<string>();
  let inside: InsideStage | null = null;
  let files = 0;
  let bytes = 0;

  const makeFolder = (folder: string, walls: InsideStage): void => {
    if (folder === path) return;
    // mutant: stage-link-parent: walls.assertFolder(folder); →
    walls.assertFolder(folder);
    if (folders.has(folder)) return;
    makeWithin(folder);
    if (folders.size < KNOWN_FOLDERS) folders.add(folder);
  };

  const begin = (full: string, mode: number | undefined): number => {
    try {
      inside ??= new InsideStage(path);
      makeFolder(dirname(full), inside);
      const fd = inside.open(full, mode ?? 0o666);
      if (mode !== undefined) fchmodSync(fd, mode);
      return fd;
    } catch (error) {
      throw ioError(error, "write", full);
    }
  };

  /** It is remembered at once: if the sync fails, nothing is published anyway. */
  const finish = (name: string, full: string, fd: number, poured: Poured): Promise<void> => {
    const synced = syncAndClose(fd, full);
    const identity = written.size < REMEMBERED ? identityIfKnown(fd) : null;
    if (identity !== null) written.set(name, { identity, sha256: poured.sha256() });
    return synced;
  };

  return {
    path,
    signal,
    written,
    async write(given, content, options = {}) {
      checkOptions(options, WRITE);
      const { mode } = options;
      const name = checkName(given);
      pool.assertFine();
      signal?.throwIfAborted();
      const full = join(path, name);
      written.delete(name);
      const fd = begin(full, mode);
      try {
        const pouring = pour(content, fd);
        const poured = pouring instanceof Promise ? await pouring : pouring;
        // mutant: publish-own-bytes: if (!pool.hasRoom) poured.sha256(); →
        if (!pool.hasRoom) poured.sha256(); // Later the bytes may be others: they are the caller's.
        await pool.add(() => finish(name, full, fd, poured));
        bytes += poured.size;
      } catch (error) {
        closeSync(fd);
        throw isSystemError(error) ? ioError(error, "write", full) : error;
      }
      files += 1;
      tell({ files, bytes });
    },
    async settle() {
      await pool.idle();
      pool.assertFine();
    },
  };
}

/** Most folders are made in one that is there; looking for it costs as much again. */
function makeWithin(folder: string): void {
  try {
    mkdirSync(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" && code !== "EEXIST") throw error;
    mkdirSync(folder, { recursive: true });
  }
}

/** `E_INVALID_ARGUMENT` for a name that leads out of the stage. */
function checkName(name: string): string {
  if (typeof name !== "string" || name === "" || name.includes("\0")) throw invalidArgument("name", "a path");
  const plain = normalize(name);
  if (plain.startsWith(sep) || plain === "." || plain.split(sep).includes("..") || plain.endsWith(sep))
    throw invalidArgument("name", `${name} is not the name of a file inside the stage`);
  return plain;
}

/** What cannot be looked at is read again later. */
function identityIfKnown(fd: number): string | null {
  try {
    return identityOf(fstatSync(fd, { bigint: true }));
  } catch {
    return null;
  }
}

interface Facts {
  readonly ino: bigint;
  readonly size: bigint;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
}

/** Changes with every change of the file. */
export function identityOf({ ino, size, mtimeNs, ctimeNs }: Facts): string {
  return `${ino}:${size}:${mtimeNs}:${ctimeNs}`;
}

function isSystemError(error: unknown): boolean {
  return typeof (error as NodeJS.ErrnoException).syscall === "string";
}
