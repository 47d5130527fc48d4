/**
 * Reads files, hashes them, and stores what is new: the work of a thread, or of the main one when there is little to do.
 * A file is opened once, without following a link, and must be the one that was walked; its content is read from that
 * descriptor and hashed as it is stored, so an object always has the content of its name, whatever a writer does meanwhile.
 */
import { createHash, hash } from "node:crypto";
import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  renameSync,
  unlinkSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { ioError } from "../../../base/errors.js";
import { writeFully } from "../../../files/durable-file.js";
import { createFresh, makeFolder, READ_ONLY, takeRights } from "../../../platform/folder-rights.js";
import { LARGE_BYTES, largePath } from "../objects/object-format.js";
import { createObjectIndex, type IndexPart } from "../objects/object-index.js";
import { createPackWriter } from "../objects/pack-writer.js";
import { createReflink } from "../objects/reflink.js";

export interface FileJob {
  readonly number: number;
  readonly full: string;
  readonly size: number;
  readonly ino: string;
}

export interface FileResult {
  readonly number: number;
  /** Null when it is not the file that was walked, or could not be read at all. */
  readonly sha256: string | null;
  readonly size: number;
  /** The errno of a file that cannot be read. */
  readonly errno: string | null;
}

export interface Hasher {
  hash(job: FileJob): FileResult;
  /** Stores an object that is no file: a piece of a manifest. */
  store(sha256: Buffer, content: Buffer): void;
  finish(): void;
  abandon(): void;
}

export interface HasherPlace {
  /** The folder of the snapshot in the making. */
  readonly folder: string;
  readonly thread: number;
  readonly parts: readonly IndexPart[];
}

const CHUNK_BYTES = 1 << 20;
/** A block of zeros this long in a file with holes stays a hole. */
const HOLE_BYTES = 1 << 12;
const ZEROS = Buffer.alloc(HOLE_BYTES);
/** What a file that vanished or is not ours to read gives; any other errno is a failure of the disk. */
const UNREADABLE = new Set(["ENOENT", "EACCES", "EPERM", "ELOOP", "ENOTDIR", "ENXIO"]);

export function createHasher({ folder, thread, parts }: HasherPlace): Hasher {
  const index = createObjectIndex(parts);
  const pack = createPackWriter(folder, thread);
  const buffer = Buffer.allocUnsafe(LARGE_BYTES);
  const reflink = createReflink();

  const store = (sha256: Buffer, content: Buffer): void => {
    if (!pack.has(sha256) && index.find(sha256) === null) pack.add(sha256, content);
  };
  const hashSmall = (fd: number, size: number): Buffer | null => {
    let filled = 0;
    while (filled <= size && filled < buffer.length) {
      const count = readSync(fd, buffer, filled, Math.min(buffer.length - filled, size + 1 - filled), null);
      if (count === 0) break;
      filled += count;
    }
    if (filled !== size) return null;
    const content = buffer.subarray(0, filled);
    const sha256 = hash("sha256", content, "buffer");
    store(sha256, content);
    return sha256;
  };
  const hashLarge = (fd: number, stats: BigIntStats): Buffer | null => {
    const fresh = join(folder, `large-${thread}.new`);
    const size = Number(stats.size);
    // By its descriptor: under its path may be another file by now.
    const sha256 = reflink(`/proc/self/fd/${fd}`, fresh)
      ? hashClone(fresh, size)
      : copyLarge(fd, fresh, size, stats.blocks * 512n < stats.size);
    if (sha256 === null || pack.has(sha256) || index.find(sha256) !== null) {
      unlinkSync(fresh);
      return sha256;
    }
    const path = largePath(folder, sha256.toString("hex"));
    makeFolder(dirname(path));
    renameSync(fresh, path);
    pack.noteLarge(sha256, size);
    return sha256;
  };

  return {
    store,
    hash({ number, full, size, ino }) {
      const missing = (errno: string | null): FileResult => ({ number, sha256: null, size, errno });
      let fd: number;
      try {
        fd = openSync(full, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
      } catch (error) {
        const errno = (error as NodeJS.ErrnoException).code ?? "";
        if (UNREADABLE.has(errno)) return missing(errno);
        throw ioError(error, "open", full);
      }
      try {
        const stats = fstatSync(fd, { bigint: true });
        if (!stats.isFile() || String(stats.ino) !== ino || Number(stats.size) !== size) return missing(null);
        const sha256 = size < LARGE_BYTES ? hashSmall(fd, size) : hashLarge(fd, stats);
        return sha256 === null ? missing(null) : { number, sha256: sha256.toString("hex"), size, errno: null };
      } catch (error) {
        throw ioError(error, "read", full);
      } finally {
        closeSync(fd);
      }
    },
    finish() {
      pack.finish();
      index[Symbol.dispose]();
    },
    abandon() {
      pack.abandon();
      index[Symbol.dispose]();
    },
  };
}

/** Of a clone nobody else knows. Null when the file has not the length it had. */
function hashClone(path: string, size: number): Buffer | null {
  const fd = openSync(path, "r");
  try {
    if (fstatSync(fd).size !== size) return null;
    const sha256 = hashOf(fd);
    takeRights(fd, path, READ_ONLY);
    fsyncSync(fd);
    return sha256;
  } finally {
    closeSync(fd);
  }
}

/** Copies and hashes in one pass. Null when the file has not the length it had. */
function copyLarge(from: number, path: string, size: number, hasHoles: boolean): Buffer | null {
  const to = createFresh(path, "wx", READ_ONLY);
  try {
    const digest = createHash("sha256");
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    let at = 0;
    for (;;) {
      const count = readSync(from, chunk, 0, CHUNK_BYTES, null);
      if (count === 0) break;
      const piece = chunk.subarray(0, count);
      digest.update(piece);
      writePiece(to, piece, at, hasHoles);
      at += count;
    }
    if (at !== size) return null;
    if (hasHoles) ftruncateSync(to, size);
    fsyncSync(to);
    return digest.digest();
  } finally {
    closeSync(to);
  }
}

/** With holes where they may be: blocks of zeros are not written. */
export function writePiece(fd: number, piece: Buffer, at: number, hasHoles: boolean): void {
  if (!hasHoles) {
    writeFully(fd, piece, at);
    return;
  }
  for (let block = 0; block < piece.length; block += HOLE_BYTES) {
    const bytes = piece.subarray(block, block + HOLE_BYTES);
    if (!bytes.equals(ZEROS.subarray(0, bytes.length))) writeFully(fd, bytes, at + block);
  }
}

/** Null when it is no file any more: a pipe is not waited for. */
export function hashOfFile(path: string): string | null {
  // mutant: read-again-waits: | constants.O_NOFOLLOW | constants.O_NONBLOCK); → | constants.O_NOFOLLOW);
  const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    return fstatSync(fd).isFile() ? hashOf(fd).toString("hex") : null;
  } finally {
    closeSync(fd);
  }
}

function hashOf(fd: number): Buffer {
  const digest = createHash("sha256");
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  for (let count = readSync(fd, chunk); count > 0; count = readSync(fd, chunk)) digest.update(chunk.subarray(0, count));
  return digest.digest();
}
