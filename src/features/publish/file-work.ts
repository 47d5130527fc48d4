/**
 * Runs work on files where it is cheapest. Quick work runs at once, since a hop to the thread pool costs more than the
 * call; work that waits for the disk goes to the pool: syncs, and everything about large files. So many syncs are under
 * way at a time, and the file system makes one write of them.
 */
import { createHash, hash as hashAtOnce } from "node:crypto";
import { closeSync, fstatSync, fsync, openSync, read, readSync, write, writeSync } from "node:fs";
import { ioError } from "../../base/errors.js";

/** Up to this many bytes are read or written at once. */
const AT_ONCE = 65_536;

export interface Sum {
  readonly sha256: string;
  readonly size: number;
}

/** Waits until the file is on the disk, then closes it, whatever comes of it. A sync that failed is not tried again. */
export function syncAndClose(fd: number, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    // mutant: publish-file-sync: fsync → (path === "" ? fsync : (_: number, heard: (error: NodeJS.ErrnoException | null) => void) => heard(null))
    fsync(fd, (error) => {
      try {
        closeSync(fd);
      } catch (closing) {
        error ??= closing as NodeJS.ErrnoException;
      }
      if (error) reject(ioError(error, "sync", path));
      else resolve();
    });
  });
}

export async function syncFolderLater(path: string): Promise<void> {
  let fd: number;
  try {
    fd = openSync(path, "r");
  } catch (error) {
    throw ioError(error, "sync", path);
  }
  return syncAndClose(fd, path);
}

export type Content = string | Uint8Array | AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>;

export interface Poured {
  readonly size: number;
  /** Made when it is first asked for, so that the disk can be at work already. Of the caller's own bytes: ask at once. */
  sha256(): string;
}

/** Writes what comes; while a piece is on its way to the file it is hashed. A short write is gone on with. */
export function pour(content: Content, fd: number): Poured | Promise<Poured> {
  if (typeof content !== "string" && !(content instanceof Uint8Array)) return pourPieces(content, fd);
  const data = typeof content === "string" ? Buffer.from(content) : content;
  if (data.byteLength > AT_ONCE) return pourPieces([data], fd);
  writeAtOnce(fd, data);
  let sha256: string | undefined;
  return {
    size: data.byteLength,
    sha256() {
      sha256 ??= hashAtOnce("sha256", data);
      return sha256;
    },
  };
}

async function pourPieces(content: Exclude<Content, string | Uint8Array>, fd: number): Promise<Poured> {
  const hash = createHash("sha256");
  let size = 0;
  for await (const piece of content) {
    const data = typeof piece === "string" ? Buffer.from(piece) : piece;
    const writing = data.byteLength <= AT_ONCE ? writeAtOnce(fd, data) : writeAll(fd, data);
    hash.update(data);
    size += data.byteLength;
    await writing;
  }
  const sha256 = hash.digest("hex");
  return { size, sha256: () => sha256 };
}

function writeAtOnce(fd: number, data: Uint8Array): void {
  for (let done = 0; done < data.byteLength; ) done += writeSync(fd, data, done, data.byteLength - done, null);
}

async function writeAll(fd: number, data: Uint8Array): Promise<void> {
  for (let done = 0; done < data.byteLength; ) done += await writeLater(fd, data, done);
}

function writeLater(fd: number, data: Uint8Array, from: number): Promise<number> {
  return new Promise((resolve, reject) => {
    write(fd, data, from, data.byteLength - from, (error, length) =>
      error === null ? resolve(length) : reject(error),
    );
  });
}

/** The hash of what an open file holds, read piece by piece. */
export async function sumOf(fd: number): Promise<Sum> {
  const isSmall = fstatSync(fd).size <= AT_ONCE;
  const hash = createHash("sha256");
  const bytes = isSmall ? scratch : Buffer.allocUnsafe(AT_ONCE);
  let size = 0;
  for (;;) {
    const length = isSmall ? readSync(fd, bytes, 0, AT_ONCE, size) : await readLater(fd, bytes, size);
    if (length === 0) return { sha256: hash.digest("hex"), size };
    hash.update(bytes.subarray(0, length));
    size += length;
  }
}

const scratch = Buffer.alloc(AT_ONCE);

function readLater(fd: number, bytes: Buffer, at: number): Promise<number> {
  return new Promise((resolve, reject) => {
    read(fd, bytes, 0, bytes.length, at, (error, length) => (error === null ? resolve(length) : reject(error)));
  });
}
