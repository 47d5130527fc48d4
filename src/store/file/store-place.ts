/**
 * Checks whether the path of a file store still names the store that is open, by its `store.json`: that file is written
 * once, with the store. It is kept open, so that no other file gets its number.
 *
 * A step does not ask for this as long as the folder and the guard of its tree are the ones that it had before, for then
 * the path leads to this store. It asks before it makes a folder or a guard.
 */
import { closeSync, openSync } from "node:fs";
import { ioError } from "../../base/errors.js";
import { lostStore } from "../../base/lost-store.js";
import { NamedFile } from "../../files/named-file.js";

export class StorePlace {
  readonly #url: string;
  readonly #file: NamedFile;
  readonly #fd: number;

  /** The error of a lost store when there is none. */
  constructor(url: string, path: string) {
    this.#url = url;
    this.#fd = openMark(path);
    const file = NamedFile.at(path);
    if (file === null) throw lostStore(url, "missing");
    this.#file = file;
  }

  /** Throws the error of a lost store (`isLostStore`), and `E_IO` when it cannot tell. */
  assert(): void {
    const lost = this.#file.loss();
    // mutant: file-in-place: if (lost !== null) throw → if (lost !== null && lost.length === 0) throw
    if (lost !== null) throw lostStore(this.#url, lost);
  }

  close(): void {
    closeSync(this.#fd);
  }
}

function openMark(path: string): number {
  try {
    return openSync(path, "r");
  } catch (error) {
    throw ioError(error, "open", path);
  }
}
