/**
 * A small JSON file that is rewritten often. Up to one page it is written in place: the kernel copies a page as a whole,
 * so a process killed at any instruction leaves the old content or the new one. A larger one is replaced by rename, and
 * so is one that must survive a power cut. Only the holder of the tree's guard writes; readers without it may catch a
 * write half-way and look again.
 */
import { closeSync, fstatSync, fsyncSync, openSync, readSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { removeQuietly, replaceFile, syncFolder, writeFully } from "../../support/durable-file.js";
import { HoldfastError, ioError } from "../../support/errors.js";

const PAGE = 4096;
const SPACE = 0x20;
const NEWLINE = 0x0a;

export class BlockFile<T> {
  readonly path: string;
  #fd = -1;
  /** What the file holds, as far as this process knows, and what it says. */
  #bytes: Buffer = Buffer.alloc(0);
  #value: T | null = null;

  constructor(path: string) {
    this.path = path;
  }

  /** Null when there is no file, or an empty one. `E_STORE_CORRUPT` when it is no JSON. */
  read(): T | null {
    const size = this.#open();
    if (size <= 0) {
      this.#remember(Buffer.alloc(0), null);
      return null;
    }
    const bytes = size <= PAGE ? scratch.subarray(0, size) : Buffer.allocUnsafe(size);
    const length = readSync(this.#fd, bytes, 0, size, 0);
    const found = bytes.subarray(0, length);
    if (this.#bytes.equals(found)) return this.#value;
    this.#remember(Buffer.from(found), parse<T>(found, this.path));
    return this.#value;
  }

  write(value: T, durable: boolean): void {
    const json = Buffer.from(`${JSON.stringify(value)}\n`);
    try {
      const size = this.#open();
      if (durable || size < 0 || Math.max(size, json.length) > PAGE) this.#replace(json, durable);
      else this.#overwrite(json, size);
      this.#value = value;
    } catch (error) {
      this.#remember(Buffer.alloc(0), null);
      throw ioError(error, "write", this.path);
    }
  }

  remove(durable: boolean): void {
    this.close();
    removeQuietly(this.path);
    if (durable) syncFolder(dirname(this.path));
  }

  sync(): void {
    if (this.#open() >= 0) fsyncSync(this.#fd);
  }

  close(): void {
    if (this.#fd >= 0) closeSync(this.#fd);
    this.#fd = -1;
    this.#remember(Buffer.alloc(0), null);
  }

  /** The shorter content is padded with blanks, so that one write does it all. */
  #overwrite(json: Buffer, size: number): void {
    let bytes = json;
    if (json.length < size) {
      bytes = Buffer.alloc(size, SPACE);
      json.copy(bytes);
      bytes[json.length - 1] = SPACE;
      bytes[size - 1] = NEWLINE;
    }
    writeFully(this.#fd, bytes, 0);
    this.#bytes = bytes;
  }

  #replace(json: Buffer, durable: boolean): void {
    replaceFile(this.path, json, durable);
    this.close();
    this.#bytes = json;
  }

  /** The size of the file the path names now, or -1. A descriptor of a file that was replaced or removed is let go. */
  #open(): number {
    if (this.#fd >= 0) {
      const stat = fstatSync(this.#fd);
      if (stat.nlink > 0) return stat.size;
      closeSync(this.#fd);
      this.#fd = -1;
    }
    if (statSync(this.path, { throwIfNoEntry: false }) === undefined) return -1;
    try {
      this.#fd = openSync(this.path, "r+");
    } catch (error) {
      throw ioError(error, "open", this.path);
    }
    return fstatSync(this.#fd).size;
  }

  #remember(bytes: Buffer, value: T | null): void {
    this.#bytes = bytes;
    this.#value = value;
  }
}

const scratch = Buffer.alloc(PAGE);

function parse<T>(bytes: Buffer, path: string): T {
  try {
    return JSON.parse(bytes.toString()) as T;
  } catch (cause) {
    throw new HoldfastError("E_STORE_CORRUPT", `${path} is not readable`, { cause, details: { path } });
  }
}
