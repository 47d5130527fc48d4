/**
 * A small JSON file that is rewritten often. Up to one page it is written in place: the kernel copies a page as a whole,
 * so a process killed at any instruction leaves the old content or the new one. A larger one is replaced by rename, and
 * so is one that must survive a power cut. Only the holder of the tree's guard writes; readers without it may catch a
 * write half-way and read again.
 *
 * A process that keeps the file open need not look up its path each time, because a writer that replaces the file marks the
 * old one first: the newline at its end becomes a blank. A writer that is killed before the rename leaves a file that every
 * process looks up each time, until the next write. A change by a person shows in the names of the folder, see
 * folder-names.ts.
 */
import { closeSync, constants, fstatSync, openSync, readSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { HoldfastError, ioError } from "../../../base/errors.js";
import { isObject } from "../../../base/is-object.js";
import { removeQuietly, replaceFile, syncFolder, writeFully } from "../../../files/durable-file.js";
import { type FolderNames, KnownName } from "../../../files/folder-names.js";
import { assertNoLink } from "../../../platform/look-up.js";

/** What is written in place has at most this many bytes. */
export const PAGE = 4096;
const SPACE = 0x20;
const NEWLINE = 0x0a;
const BLANK = Buffer.from(" ");
/** No string of this length is longer than a page in UTF-8. */
const SURELY_A_PAGE = PAGE / 3 - 1;

/** How a value is written, where JSON alone will not do. */
export interface Codec<T> {
  encode(value: T): string;
  /** What was read, as it is used. Throws when it cannot be. */
  decode(value: T, path: string): T;
}

function justJson<T>(): Codec<T> {
  return { encode: JSON.stringify, decode: (value) => value };
}

export class BlockFile<T> {
  readonly path: string;
  readonly #name: KnownName;
  /** Whoever replaces the file says so in the old one. */
  readonly #isMarked: boolean;
  readonly #codec: Codec<T>;
  #fd = -1;
  /** The file that the descriptor is open on. */
  #inode = -1;
  #device = -1;
  /** Size when last looked, -1 for no file. Good for as long as the guard is held. */
  #size = -1;
  /** What the file holds as far as this process knows, in the first `#length` bytes, and what that says. */
  #content: Buffer = Buffer.alloc(PAGE);
  #length = 0;
  #value: T | null = null;
  /** True when the last read found what this process knew already. */
  isUnchanged = false;

  /** With the names of its folder, which somebody else looks at, the path is looked up only when these have changed. */
  constructor(path: string, names: FolderNames | null = null, codec: Codec<T> = justJson()) {
    this.path = path;
    this.#name = new KnownName(names);
    this.#isMarked = names !== null;
    this.#codec = codec;
  }

  /** Null when there is no file, or an empty one. `E_STORE_CORRUPT` when it is no JSON, and what the codec throws. */
  read(): T | null {
    try {
      return this.#read();
    } catch (error) {
      throw ioError(error, "read", this.path);
    }
  }

  #read(): T | null {
    const isTrusted = this.#isTrusted();
    const size = isTrusted ? this.#size : this.#lookUp();
    if (size <= 0) {
      this.#forget();
      return null;
    }
    const bytes = size <= PAGE ? scratch : Buffer.allocUnsafe(size);
    const length = readSync(this.#fd, bytes, 0, bytes.length, 0);
    // Replaced, or changed by hand.
    if (isTrusted && (bytes[length - 1] !== NEWLINE || (length === PAGE && size < PAGE))) {
      this.#name.forget();
      return this.#read();
    }
    this.#size = length;
    this.isUnchanged = length === this.#length && bytes.compare(this.#content, 0, length, 0, length) === 0;
    if (this.isUnchanged) return this.#value;
    this.#forget();
    const value = this.#codec.decode(parseBlock<T>(bytes.toString("utf8", 0, length), this.path), this.path);
    this.#makeRoom(length);
    bytes.copy(this.#content, 0, 0, length);
    this.#length = length;
    this.#value = value;
    return value;
  }

  /** Whether what was read is no mixture of two writes: a page is there a second time, anything longer was never overwritten. */
  isWhole(): boolean {
    if (this.#length > PAGE) return true;
    const length = readSync(this.#fd, scratch, 0, this.#length, 0);
    return length === this.#length && scratch.compare(this.#content, 0, length, 0, length) === 0;
  }

  /** Read it first, under the same guard. */
  write(value: T, durable: boolean): void {
    const json = this.#codec.encode(value);
    try {
      if (json.length > SURELY_A_PAGE) this.#makeRoom(Buffer.byteLength(json) + 1);
      const length = this.#content.write(json) + 1;
      const isOnePage = Math.max(length, this.#size) <= PAGE;
      this.#length = isOnePage ? Math.max(length, this.#size) : length;
      this.#content.fill(SPACE, length - 1, this.#length - 1);
      this.#content[this.#length - 1] = NEWLINE;
      const bytes = this.#content.subarray(0, this.#length);
      if (isOnePage && !durable && this.#size >= 0) this.#overwrite(bytes);
      else this.#replace(bytes, durable);
      this.#value = value;
    } catch (error) {
      this.#forget();
      throw ioError(error, "write", this.path);
    }
  }

  isOlderThan(wallMs: number): boolean {
    try {
      return (statSync(this.path, { throwIfNoEntry: false })?.mtimeMs ?? 0) < wallMs;
    } catch (error) {
      throw ioError(error, "look at", this.path);
    }
  }

  remove(durable: boolean): void {
    this.close();
    removeQuietly(this.path);
    if (durable) syncFolder(dirname(this.path));
  }

  close(): void {
    this.#closeFile();
    this.#forget();
  }

  #overwrite(bytes: Buffer): void {
    writeFully(this.#fd, bytes, 0);
    this.#size = bytes.length;
  }

  /** Once the new file is in place nothing that fails here may undo that: it is opened when it is next read. */
  #replace(bytes: Buffer, durable: boolean): void {
    // mutant: block-mark: if (this.#fd >= 0 && this.#size > 0 && this.#isMarked) writeFully(this.#fd, BLANK, this.#size - 1) → void BLANK
    if (this.#fd >= 0 && this.#size > 0 && this.#isMarked) writeFully(this.#fd, BLANK, this.#size - 1);
    replaceFile(this.path, bytes, durable);
    try {
      this.#lookUp();
    } catch {
      this.#closeFile();
    }
  }

  #closeFile(): void {
    const fd = this.#fd;
    this.#fd = -1;
    this.#size = -1;
    if (fd >= 0) closeSync(fd);
  }

  /** Whether the open file can be read without looking up its path: it says by itself when it was replaced. */
  #isTrusted(): boolean {
    return this.#size > 0 && this.#name.holds;
  }

  /**
   * The size of the file the path names now, or -1. A descriptor of a file that was replaced or removed is let go; its
   * count of links would not tell, for a backup may have linked it elsewhere.
   */
  #lookUp(): number {
    const named = statSync(this.path, { throwIfNoEntry: false });
    if (named === undefined || named.ino !== this.#inode || named.dev !== this.#device) this.#closeFile();
    if (named === undefined) {
      assertNoLink(this.path);
      return -1;
    }
    this.#name.note();
    if (this.#fd >= 0) {
      this.#size = named.size;
      return named.size;
    }
    this.#fd = openUnnoted(this.path);
    // Of the file that was opened: the name may stand for another by now, and numbers of files are used again.
    // mutant: block-opened: } = fstatSync(this.#fd); → } = { ...fstatSync(this.#fd), ino: named.ino };
    const { ino, dev, size } = fstatSync(this.#fd);
    this.#inode = ino;
    this.#device = dev;
    this.#size = size;
    return size;
  }

  #makeRoom(bytes: number): void {
    if (bytes > this.#content.length) this.#content = Buffer.alloc(bytes);
  }

  #forget(): void {
    this.isUnchanged = false;
    this.#length = 0;
    this.#value = null;
  }
}

const scratch = Buffer.alloc(PAGE);

/** Not even noting that it was read, where the system lets us: that would be a write of its own. */
function openUnnoted(path: string): number {
  try {
    return openSync(path, constants.O_RDWR | (constants.O_NOATIME ?? 0));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPERM") throw error;
    return openSync(path, "r+"); // Another user's file.
  }
}

/** All that is kept in blocks are objects. `E_STORE_CORRUPT` */
export function parseBlock<T>(text: string, path: string): T {
  let cause: unknown;
  try {
    const found: unknown = JSON.parse(text);
    // mutant: block-object: if (isObject(found)) → if (path !== "")
    if (isObject(found)) return found as T;
  } catch (error) {
    cause = error;
  }
  throw new HoldfastError("E_STORE_CORRUPT", `${path} is not readable`, { cause, details: { path } });
}
