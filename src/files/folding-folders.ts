/**
 * Knows which folders take two spellings of a name for one (`Foo` and `foo`): on macOS and Windows most do, on Linux those
 * of NTFS, exFAT and FAT, and those of ext4, F2FS and tmpfs that carry the flag `casefold`.
 *
 * No system tells; so it is tried, once for each folder: an existing name is looked up with its capitals and small letters
 * exchanged. That changes nothing and needs no permission to write. A folder without such a name follows the one around
 * it, unless it may have a flag of its own or is a mount point: then a file is created in it and removed. A folder in
 * which the caller may not write follows the one around it; nothing new comes to be there by that caller.
 *
 * An answer is kept for some seconds, so that a folder on which another file system was mounted is looked at again.
 *
 * A crash at the wrong moment leaves an empty file `.holdfast-probe-…` in a folder that had no files.
 */
import { randomUUID } from "node:crypto";
import { closeSync, existsSync, lstatSync, opendirSync, openSync, unlinkSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { bytesOf } from "./name-spelling.js";

/** A file or a folder, as far as it can be told from another. */
interface Seen {
  readonly dev: bigint;
  readonly ino: bigint;
  readonly nlink: bigint;
  isDirectory(): boolean;
}

/** The file system, in paths of one character per byte. */
export interface Files {
  /** Undefined for what is not there, and for what the system does not show. */
  look(path: string): Seen | undefined;
  /** Some names in a folder; none where they are not shown. */
  names(folder: string): Iterable<string>;
  /** Runs `work` while there is a file of this name; null when it cannot be created. */
  withFile<T>(path: string, work: () => T): T | null;
  /** Whether a folder here may differ from the one around it on the same device. */
  readonly hasFolderFlags: boolean;
}

const KEPT_MS = 10_000;
const MOST_KEPT = 10_000;
/** So many names are looked at in search of one with a letter. */
const MOST_NAMES = 64;
/** As for the probes of a store, whose remains are swept. */
const PROBE = ".holdfast-probe-";

export class FoldingFolders {
  readonly #files: Files;
  readonly #nowMs: () => number;
  readonly #known = new Map<string, boolean>();
  /** Folders of which none above folds, either. */
  readonly #plain = new Set<string>();
  #since = 0;

  constructor(files: Files = REAL, nowMs: () => number = () => performance.now()) {
    this.#files = files;
    this.#nowMs = nowMs;
  }

  /** Whether neither this folder nor one above it folds names. `child` is a name known to be in it. */
  isPlain(folder: string, child?: string): boolean {
    const now = this.#nowMs();
    // mutant: folding-kept: if (now - this.#since > KEPT_MS || this.#known.size > MOST_KEPT) { → if (this.#known.size > MOST_KEPT) {
    if (now - this.#since > KEPT_MS || this.#known.size > MOST_KEPT) {
      this.#known.clear();
      this.#plain.clear();
      this.#since = now;
    }
    return this.#isPlain(folder, child);
  }

  #isPlain(folder: string, child: string | undefined): boolean {
    if (this.#plain.has(folder)) return true;
    const above = dirname(folder);
    if (above !== folder && !this.#isPlain(above, basename(folder))) return false;
    if (this.folds(folder, child)) return false;
    this.#plain.add(folder);
    return true;
  }

  /** Whether two spellings of a name are one name in this folder. */
  folds(folder: string, child?: string): boolean {
    const known = this.#known.get(folder);
    if (known !== undefined) return known;
    const found = this.#tried(folder, child) ?? this.#likeTheOneAround(folder);
    this.#known.set(folder, found);
    return found;
  }

  /** By a name that is there; null when none tells. */
  #tried(folder: string, child: string | undefined): boolean | null {
    if (child !== undefined) {
      const told = this.#triedWith(folder, child);
      if (told !== null) return told;
    }
    if (this.#files.look(folder)?.isDirectory() !== true) return null;
    for (const name of this.#files.names(folder)) {
      const told = this.#triedWith(folder, name);
      if (told !== null) return told;
    }
    return null;
  }

  #triedWith(folder: string, name: string): boolean | null {
    const other = exchanged(name);
    if (other === name) return null;
    const found = this.#files.look(join(folder, other));
    const own = this.#files.look(join(folder, name));
    if (own === undefined) return null;
    if (found === undefined || found.ino !== own.ino || found.dev !== own.dev) return false;
    // Of a file with two links, the other spelling may be the other link.
    // mutant: folding-two-links: own.isDirectory() || own.nlink === 1n ? true : null → own.nlink > 0n ? true : null
    return own.isDirectory() || own.nlink === 1n ? true : null;
  }

  #likeTheOneAround(folder: string): boolean {
    const above = dirname(folder);
    const around = above !== folder && this.folds(above, basename(folder));
    const here = this.#files.look(folder);
    if (here === undefined) return around;
    if (here.dev === this.#files.look(above)?.dev && !this.#files.hasFolderFlags) return around;
    const probe = join(folder, PROBE + randomUUID());
    // mutant: folding-empty: () => this.#triedWith(folder, basename(probe))) ?? around → () => around) ?? around
    return this.#files.withFile(probe, () => this.#triedWith(folder, basename(probe))) ?? around;
  }
}

/** ASCII letters are enough: a file system that folds any folds these. */
function exchanged(name: string): string {
  return name.replace(/[A-Za-z]/g, (letter) => (letter < "a" ? letter.toLowerCase() : letter.toUpperCase()));
}

const REAL: Files = {
  look(path) {
    try {
      return lstatSync(bytesOf(path), { bigint: true, throwIfNoEntry: false });
    } catch {
      return undefined;
    }
  },
  *names(folder) {
    try {
      const dir = opendirSync(bytesOf(folder), { encoding: "latin1" });
      try {
        for (let count = 0; count < MOST_NAMES; count += 1) {
          const entry = dir.readSync();
          if (entry === null) return;
          yield entry.name;
        }
      } finally {
        dir.closeSync();
      }
    } catch {
      // It is no folder, or its names are not shown.
    }
  },
  withFile(path, work) {
    try {
      closeSync(openSync(bytesOf(path), "wx", 0o600));
    } catch {
      return null;
    }
    try {
      return work();
    } finally {
      unlinkSync(bytesOf(path));
    }
  },
  get hasFolderFlags() {
    if (process.platform !== "linux") return process.platform === "win32";
    return FLAGGED.some((type) => existsSync(`/sys/fs/${type}/features/casefold`));
  },
};

const FLAGGED = ["ext4", "f2fs", "tmpfs"];

export const foldingFolders = new FoldingFolders();
