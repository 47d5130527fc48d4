/**
 * Keeps `stage.write` inside the stage, which may contain links that lead out of it, such as those of an unpacked archive.
 * A folder on the way is resolved before anything is made in it; a link as the last part is not followed; and the file
 * that was opened is looked up before it is emptied, where the system tells which file that is (Linux with /proc).
 *
 * `stage.ts` uses one for each stage. A crash leaves at most an empty file in the stage.
 *
 * Not promised: the protection of a stage whose folders another program exchanges for links at the same time. Node opens
 * a file by its whole path only, so a link can appear between the look and the open: then an empty file is made outside,
 * and on systems that do not tell which file was opened, the content follows it.
 */
import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  lstatSync,
  openSync,
  readlinkSync,
  realpathSync,
} from "node:fs";
import { dirname, sep } from "node:path";
import { type HoldfastError, invalidArgument } from "../../../base/errors.js";
import { isAbsence } from "../../../platform/look-up.js";

/** Without O_TRUNC: a file is emptied once it is known to be inside. Windows has no O_NOFOLLOW. */
const TO_WRITE = constants.O_WRONLY | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0);

export class InsideStage {
  readonly #stage: string;
  readonly #real: string;
  /** The stage as the system names what is open; null where it names nothing. */
  readonly #opened: string | null;

  constructor(stage: string) {
    this.#stage = stage;
    this.#real = realpathSync.native(stage);
    this.#opened = nameOfOpenFolder(stage);
  }

  /** Throws `E_INVALID_ARGUMENT` when the folder, or the part of it that is there, lies outside of the stage. */
  assertFolder(folder: string): void {
    for (let part = folder; part !== this.#stage; part = dirname(part)) {
      const real = realIfThere(part);
      if (real === null) continue;
      if (real === "" || !isWithin(this.#real, real)) throw outside(folder, `${part} leads out of it`);
      return;
    }
  }

  /** Opens a file for writing, emptied. Throws `E_INVALID_ARGUMENT` when it is a link, or outside of the stage. */
  open(path: string, mode: number): number {
    const fd = openUnlinked(path, mode);
    try {
      const opened = this.#opened === null ? null : nameOfOpen(fd);
      // mutant: stage-link-raced: !isWithin(this.#opened ?? "", opened)) → opened === "")
      if (opened !== null && !isWithin(this.#opened ?? "", opened)) throw outside(path, `it was opened as ${opened}`);
      if (fstatSync(fd).size > 0) ftruncateSync(fd);
      return fd;
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }
}

function openUnlinked(path: string, mode: number): number {
  try {
    // mutant: stage-link-last: TO_WRITE, mode) → constants.O_WRONLY | constants.O_CREAT, mode)
    return openSync(path, TO_WRITE, mode);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ELOOP") throw outside(path, "it is a link");
    throw error;
  }
}

/** Returns null for a path that is not there, and an empty one for a link that leads nowhere. */
function realIfThere(path: string): string | null {
  try {
    return realpathSync.native(path);
  } catch (error) {
    if (!isAbsence(error)) throw error;
    return lstatSync(path, { throwIfNoEntry: false }) === undefined ? null : "";
  }
}

function nameOfOpenFolder(path: string): string | null {
  const fd = openSync(path, "r");
  try {
    return nameOfOpen(fd);
  } finally {
    closeSync(fd);
  }
}

function nameOfOpen(fd: number): string | null {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return null; // No Linux, or no /proc.
  }
}

function isWithin(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder + sep);
}

function outside(path: string, why: string): HoldfastError {
  return invalidArgument("name", `${path} is not a file inside the stage: ${why}`);
}
