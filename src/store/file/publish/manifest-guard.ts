/**
 * The guard of the manifests of all targets, held while a step that reads or changes some goes on. A target's manifests
 * may belong to several trees, so the guards of the trees are not enough. It is the last guard a step takes, so no two
 * steps can wait for each other in a cycle; the file is made when it is first needed.
 */
import { join } from "node:path";
import { HoldfastError } from "../../../base/errors.js";
import { type Guard, openGuard } from "../../../files/guard.js";

const TRIES = 1_000;
const PAUSE_MS = 2;

export class ManifestGuard {
  readonly #path: string;
  #guard: Guard | null = null;
  #isInside = false;

  constructor(folder: string) {
    this.#path = join(folder, "guard");
  }

  /** Once for all looks of a step. `E_STORE_UNAVAILABLE` */
  enter(): void {
    if (this.#isInside) return;
    this.#guard ??= openGuard(this.#path);
    for (let tries = 0; !this.#guard.tryEnter(); tries += 1) {
      if (tries >= TRIES)
        throw new HoldfastError("E_STORE_UNAVAILABLE", `${this.#path} is held by somebody else`, { reason: "busy" });
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
    }
    this.#isInside = true;
  }

  leave(): void {
    if (this.#isInside) this.#guard?.leave();
    this.#isInside = false;
  }

  close(): void {
    this.#guard?.close();
    this.#guard = null;
  }
}
