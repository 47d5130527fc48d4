/**
 * Checks whether the path still names the file that is open, and whether that file was emptied. SQLite goes on in a file
 * that was deleted, moved away or emptied, where no process that opens the path later sees what it writes.
 *
 * A file that was written over in place, with as much as before, is not noticed: SQLite reports what it finds there as
 * damage.
 */
import { lostStore } from "../../../base/lost-store.js";
import { NamedFile } from "../../../files/named-file.js";

/** Looking costs about two microseconds, and a step that relies on no grant can do without. */
const LOOK_EVERY_MS = 50;
/** Fewer than the pages of a store without any rows, so that no VACUUM makes it as short. */
const LEAST_BYTES = 16 * 2048;

export class Presence {
  readonly #file: NamedFile;
  #lookedAt = performance.now();

  /** The file that is about to be opened. The error of a lost store when there is none. */
  constructor(path: string) {
    const file = NamedFile.at(path, LEAST_BYTES);
    if (file === null) throw lostStore(`sqlite:${path}`, "missing");
    this.#file = file;
  }

  /** As of `NamedFile`. */
  get identity(): string {
    return this.#file.identity;
  }

  /** Looks unless it looked a moment ago. */
  assertLately(): void {
    if (performance.now() - this.#lookedAt >= LOOK_EVERY_MS) this.assert();
  }

  /** Throws the error of a lost store (`isLostStore`), and `E_IO` when it cannot tell. */
  assert(): void {
    const lost = this.#file.loss();
    // mutant: sqlite-in-place: if (lost !== null) throw → if (lost !== null && lost.length === 0) throw
    if (lost !== null) throw lostStore(`sqlite:${this.#file.path}`, lost);
    this.#lookedAt = performance.now();
  }
}
