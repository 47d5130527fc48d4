/**
 * Holds removed files open, so that their removal returns early. The disk space of a removed file is freed when no process
 * has it open any longer, and that takes most of the time of a removal. A caller that holds a few files open while it
 * removes their names, and closes them afterwards, frees the names at once and the space soon after: at the latest when the
 * process ends, for any reason. Linux only; elsewhere nothing is held.
 */
import { close, openSync } from "node:fs";

/** `O_PATH`, which Node has no name for: keeps what is there without opening it, so nothing of it is touched. */
const HOLD = process.platform === "linux" ? 0o10000000 : null;
/** A descriptor each. */
const MOST_HELD = 16;

export class HeldBack {
  readonly #held: number[] = [];

  /** Nothing comes of it when there are enough already, or it cannot be had: then its removal takes as long as ever. */
  hold(path: string): void {
    if (HOLD === null || this.#held.length >= MOST_HELD) return;
    try {
      this.#held.push(openSync(path, HOLD));
    } catch {
      // Removed with a wait.
    }
  }

  /** Once the caller has gone on, in another thread. */
  letGo(): void {
    if (this.#held.length === 0) return;
    const held = this.#held.splice(0);
    setImmediate(() => {
      // mutant: held-back-let-go: (const fd of held) close(fd, () => undefined); → (const fd of held) void fd;
      for (const fd of held) close(fd, () => undefined);
    });
  }
}
