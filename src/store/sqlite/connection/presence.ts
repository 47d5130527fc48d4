/**
 * Checks whether the path still names the file that is open. SQLite goes on in a file that was deleted or moved away,
 * where no other process sees what it writes, while a process that opens the path gets a new database with every lock
 * free.
 */
import { type Stats, statSync } from "node:fs";
import { HoldfastError, ioError } from "../../../base/errors.js";

/** Looking costs as much as a statement, and a file is not taken away and put back in a moment. */
const LOOK_EVERY_MS = 50;

export class Presence {
  readonly #path: string;
  readonly #ino: number;
  readonly #dev: number;
  #lookedAt = performance.now();

  constructor(path: string) {
    this.#path = path;
    const { ino, dev } = statSync(path);
    this.#ino = ino;
    this.#dev = dev;
  }

  /** `E_STORE_UNAVAILABLE` when it does not. */
  assert(): void {
    const now = performance.now();
    if (now - this.#lookedAt < LOOK_EVERY_MS) return;
    const named = this.#look();
    // mutant: sqlite-replaced: if (named?.ino !== this.#ino || named.dev !== this.#dev) → if (named === null)
    if (named?.ino !== this.#ino || named.dev !== this.#dev)
      throw new HoldfastError("E_STORE_UNAVAILABLE", `${this.#path} was deleted, moved or replaced`, {
        reason: "no_store",
        next: ["Open the store again. What was held in it is lost."],
      });
    this.#lookedAt = now;
  }

  #look(): Stats | undefined {
    try {
      return statSync(this.#path, { throwIfNoEntry: false });
    } catch (error) {
      throw ioError(error, "look at", this.#path);
    }
  }
}
