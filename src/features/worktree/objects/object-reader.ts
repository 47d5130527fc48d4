/** Reads objects, and hashes every content on the way, so that a damaged object is never returned. */
import { createHash, hash } from "node:crypto";
import { fstatSync, readSync } from "node:fs";
import { HoldfastError, ioError } from "../../../base/errors.js";
import { HASH_BYTES, RECORD_HEAD_BYTES } from "./object-format.js";
import type { ObjectIndex, ObjectPlace } from "./object-index.js";
import { createOpenFiles } from "./open-files.js";
import { createReflink } from "./reflink.js";

const CHUNK_BYTES = 1 << 20;

export interface ObjectReader extends Disposable {
  readonly index: ObjectIndex;
  /** The whole content. `E_STORE_CORRUPT` when it is missing or not the one of that name. */
  read(sha256: string): Buffer;
  /** In pieces of at most 1 MiB, for large ones; an error at the end means that all of it is worth nothing. */
  pieces(sha256: string): Generator<Buffer>;
  place(sha256: string): ObjectPlace;
  /** Makes a new file of a large object that shares its blocks, and reads it. False where that cannot be had: nothing is made. */
  cloneTo(sha256: string, full: string): boolean;
}

/** The index is the reader's from here on: it ends with it. */
export function openObjectReader(index: ObjectIndex): ObjectReader {
  const open = createOpenFiles();
  const reflink = createReflink();
  const place = (sha256: string): ObjectPlace => {
    const found = index.find(Buffer.from(sha256, "hex"));
    if (found === null) throw damaged(sha256, "is missing", null);
    return found;
  };

  return {
    index,
    place,
    read(sha256) {
      const { path, offset, length, isLarge } = place(sha256);
      try {
        const fd = open.fdOf(path);
        const head = isLarge ? 0 : RECORD_HEAD_BYTES;
        const bytes = readFully(fd, offset - head, length + head);
        if (bytes === null) throw damaged(sha256, "is cut short", path);
        const content = bytes.subarray(head);
        if (hash("sha256", content, "hex") !== sha256) throw damaged(sha256, "has another content", path);
        if (head > 0) checkHead(bytes, sha256, length, path);
        else if (fstatSync(fd).size !== length) throw damaged(sha256, "has another length", path);
        return content;
      } catch (error) {
        throw ioError(error, "read", path);
      }
    },
    *pieces(sha256) {
      const { path, offset, length, isLarge } = place(sha256);
      if (!isLarge || length <= CHUNK_BYTES) {
        yield this.read(sha256);
        return;
      }
      try {
        const fd = open.fdOf(path);
        const digest = createHash("sha256");
        for (let at = 0; at < length; at += CHUNK_BYTES) {
          const piece = readFully(fd, offset + at, Math.min(CHUNK_BYTES, length - at));
          if (piece === null) throw damaged(sha256, "is cut short", path);
          digest.update(piece);
          yield piece;
        }
        if (digest.digest("hex") !== sha256) throw damaged(sha256, "has another content", path);
        if (fstatSync(fd).size !== length) throw damaged(sha256, "has another length", path);
      } catch (error) {
        throw ioError(error, "read", path);
      }
    },
    cloneTo(sha256, full) {
      const { path, isLarge } = place(sha256);
      if (!isLarge || !reflink(path, full)) return false;
      for (const _piece of this.pieces(sha256));
      return true;
    },
    [Symbol.dispose]() {
      open[Symbol.dispose]();
      index[Symbol.dispose]();
    },
  };
}

function checkHead(bytes: Buffer, sha256: string, length: number, path: string): void {
  if (bytes.toString("hex", 0, HASH_BYTES) !== sha256 || bytes.readUIntBE(HASH_BYTES, 6) !== length)
    throw damaged(sha256, "has another head", path);
}

function readFully(fd: number, at: number, length: number): Buffer | null {
  const bytes = Buffer.allocUnsafe(length);
  for (let done = 0; done < length; ) {
    const count = readSync(fd, bytes, done, length - done, at + done);
    if (count === 0) return null;
    done += count;
  }
  return bytes;
}

function damaged(sha256: string, how: string, path: string | null): HoldfastError {
  return new HoldfastError("E_STORE_CORRUPT", `object ${sha256} ${how}${path === null ? "" : ` in ${path}`}`, {
    details: { object: sha256, path },
    next: ["`holdfast verify --all` lists everything that is damaged; other snapshots may be whole."],
  });
}
