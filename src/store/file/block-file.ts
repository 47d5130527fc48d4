/**
 * A small JSON file that is rewritten often. Up to one page it is written in place: the kernel copies a page as a whole,
 * so a process killed at any instruction leaves the old content or the new one. A larger one is replaced by rename, and
 * so is one that must survive a power cut. Only the holder of the tree's guard writes; readers without it may catch a
 * write half-way and look again.
 */
import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { removeQuietly, replaceFile, syncFolder, writeFully } from "../../support/durable-file.js";
import { HoldfastError, ioError } from "../../support/errors.js";

const PAGE = 4096;
const SPACE = 0x20;
const NEWLINE = 0x0a;

export class BlockFile<T> {
  readonly path: string;
  #fd = -1;
  /** Size when last looked, -1 for no file. Good for as long as the guard is held. */
  #size = -1;
  /** What the file holds, as far as this process knows, and what it says. */
  #bytes: Buffer = Buffer.alloc(0);
  #value: T | null = null;
  /** True when the last read found what this process knew already. */
  isUnchanged = false;

  constructor(path: string) {
    this.path = path;
  }

  /** Null when there is no file, or an empty one. `E_STORE_CORRUPT` when it is no JSON. */
  read(): T | null {
    const size = this.#look();
    if (size <= 0) {
      this.isUnchanged = false;
      this.#remember(Buffer.alloc(0), null);
      return null;
    }
    const bytes = size <= PAGE ? scratch.subarray(0, size) : Buffer.allocUnsafe(size);
    const length = readSync(this.#fd, bytes, 0, size, 0);
    const found = bytes.subarray(0, length);
    this.isUnchanged = this.#bytes.equals(found);
    if (this.isUnchanged) return this.#value;
    this.#remember(Buffer.from(found), parse<T>(found, this.path));
    return this.#value;
  }

  /** Read it first, under the same guard. */
  write(value: T, durable: boolean): void {
    const json = Buffer.from(`${JSON.stringify(value)}\n`);
    try {
      const size = this.#size;
      if (durable || size < 0 || Math.max(size, json.length) > PAGE) this.#replace(json, durable);
      else this.#overwrite(json, size);
      this.#value = value;
    } catch (error) {
      this.#remember(Buffer.alloc(0), null);
      throw ioError(error, "write", this.path);
    }
  }

  isOlderThan(wallMs: number): boolean {
    return (statSync(this.path, { throwIfNoEntry: false })?.mtimeMs ?? 0) < wallMs;
  }

  remove(durable: boolean): void {
    this.close();
    removeQuietly(this.path);
    if (durable) syncFolder(dirname(this.path));
  }

  close(): void {
    if (this.#fd >= 0) closeSync(this.#fd);
    this.#fd = -1;
    this.#size = -1;
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
    this.#size = bytes.length;
  }

  #replace(json: Buffer, durable: boolean): void {
    replaceFile(this.path, json, durable);
    this.close();
    this.#look();
    this.#bytes = json;
  }

  /** The size of the file the path names now, or -1. A descriptor of a file that was replaced or removed is let go. */
  #look(): number {
    if (this.#fd >= 0) {
      const { nlink, size } = fstatSync(this.#fd);
      if (nlink > 0) {
        this.#size = size;
        return size;
      }
      closeSync(this.#fd);
      this.#fd = -1;
    }
    this.#size = this.#open() ? fstatSync(this.#fd).size : -1;
    return this.#size;
  }

  #open(): boolean {
    if (statSync(this.path, { throwIfNoEntry: false }) === undefined) return false;
    try {
      this.#fd = openSync(this.path, "r+");
      return true;
    } catch (error) {
      throw ioError(error, "open", this.path);
    }
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
