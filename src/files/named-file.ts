/**
 * Remembers which file a path names, and tells later whether the path still names that file and whether it was emptied.
 *
 * A number of a file is used again as soon as the file is gone, on ext4 at once; so its time of birth counts as well.
 * Not noticed: a file that was written over in place and is as long as before.
 */
import { type Stats, statSync } from "node:fs";
import { ioError } from "../base/errors.js";
import type { StoreLoss } from "../base/lost-store.js";

export class NamedFile {
  readonly path: string;
  readonly #stat: Stats;
  readonly #leastBytes: number;

  /** `leastBytes`: as long as the file has been, or as this, it holds something. Null where there is no file. */
  static at(path: string, leastBytes = 1): NamedFile | null {
    const stat = fileAt(path);
    return stat === undefined ? null : new NamedFile(path, stat, leastBytes);
  }

  private constructor(path: string, stat: Stats, leastBytes: number) {
    this.path = path;
    this.#stat = stat;
    this.#leastBytes = Math.min(leastBytes, stat.size);
  }

  get isEmpty(): boolean {
    return this.#stat.size === 0;
  }

  /** Differs from that of every other file on this machine, also of a copy in the place of this one. */
  get identity(): string {
    const { dev, ino, birthtimeMs } = this.#stat;
    return `${dev}:${ino}:${birthtimeMs}`;
  }

  /** Null while it is the same file. `E_IO` when that cannot be seen. */
  loss(): StoreLoss | null {
    const named = fileAt(this.path);
    if (named === undefined) return "missing";
    const { ino, dev, birthtimeMs } = this.#stat;
    // mutant: named-file-replaced: named.ino !== ino || named.dev !== dev || named.birthtimeMs !== birthtimeMs → named.ino + ino + dev + birthtimeMs < 0
    if (named.ino !== ino || named.dev !== dev || named.birthtimeMs !== birthtimeMs) return "replaced";
    // mutant: named-file-emptied: return named.size < this.#leastBytes ? "emptied" : null; → return null;
    return named.size < this.#leastBytes ? "emptied" : null;
  }
}

/** Undefined where there is none. `E_IO` */
function fileAt(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOTDIR") return undefined;
    throw ioError(error, "look at", path);
  }
}
