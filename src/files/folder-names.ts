/**
 * Checks, at the price of one look, whether the names in a folder still stand for the same files: the folder's own time
 * changes with every name that is made, replaced or removed in it. A change in the same tick of that clock as the last
 * one would not show, so a folder that changed a moment ago counts as changing.
 */
import { statSync } from "node:fs";
import { ageOfFile } from "../platform/clock.js";

/** Longer than any system's tick. */
const TICK_MS = 15;

export class FolderNames {
  readonly #path: string;
  #inode = -1;
  #device = -1;
  #changedAt = Number.NaN;
  #generation = 0;

  constructor(path: string) {
    this.#path = path;
  }

  /** The same number as long as no name in the folder is seen to change. */
  get generation(): number {
    return this.#generation;
  }

  look(): void {
    const found = statSync(this.#path, { throwIfNoEntry: false });
    const isSame =
      found !== undefined &&
      found.ctimeMs === this.#changedAt &&
      found.ino === this.#inode &&
      found.dev === this.#device;
    // mutant: names-changed: if (isSame) return; → if (isSame || this.#inode >= 0) return;
    if (isSame) return;
    this.#generation += 1;
    this.#inode = found?.ino ?? -1;
    this.#device = found?.dev ?? -1;
    // mutant: names-tick: (found.ctimeMs) ? found.ctimeMs : Number.NaN → (0) ? found.ctimeMs : Number.NaN
    this.#changedAt = found !== undefined && isSettled(found.ctimeMs) ? found.ctimeMs : Number.NaN;
  }
}

/** That a path in the folder was looked up, which need not be done again until a name there is seen to change. */
export class KnownName {
  readonly #names: FolderNames | null;
  #generation = -1;

  /** Without the names of its folder it has to be looked up each time. */
  constructor(names: FolderNames | null) {
    this.#names = names;
  }

  get holds(): boolean {
    return this.#generation === this.#names?.generation;
  }

  note(): void {
    this.#generation = this.#names?.generation ?? -1;
  }

  forget(): void {
    this.#generation = -1;
  }
}

/** Never where the file system counts in whole seconds. */
function isSettled(changedAt: number): boolean {
  return changedAt % 1_000 !== 0 && ageOfFile(changedAt) > TICK_MS;
}
