/**
 * Looks, while anything is held, whether the store is still in its place and on record for the workspace. A store that was
 * deleted, moved away, emptied or replaced is open to no other process: another one may begin a new store at the same path,
 * with all locks free. The same holds when the workspace was moved to another store. So all that is held is lost at once.
 *
 * One timer for an instance, which keeps no program running. It stops when it finds that nothing is held. A program whose
 * event loop is blocked learns of the loss when it runs again; its commits are refused meanwhile, by the step itself.
 */

import type { HoldfastError } from "../../base/errors.js";
import { isLostStore } from "../../base/lost-store.js";

/** Documented: a loss is noticed within a second. */
export const LOOK_EVERY_MS = 500;

export interface HeldInStore {
  onStoreLost(error: HoldfastError): void;
}

export class StoreWatch {
  readonly #assertInPlace: () => void;
  readonly #held = new Set<HeldInStore>();
  #timer: NodeJS.Timeout | undefined;

  constructor(assertInPlace: () => void) {
    this.#assertInPlace = assertInPlace;
  }

  add(held: HeldInStore): void {
    this.#held.add(held);
    this.#timer ??= setInterval(() => this.#look(), LOOK_EVERY_MS).unref();
  }

  delete(held: HeldInStore): void {
    this.#held.delete(held);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #look(): void {
    if (this.#held.size === 0) {
      this.close();
      return;
    }
    try {
      this.#assertInPlace();
    } catch (error) {
      // mutant: store-watch: if (isLostStore(error)) for → if (isLostStore(error) && this.#timer === undefined) for
      if (isLostStore(error)) for (const held of [...this.#held]) held.onStoreLost(error);
      // Not to be able to look proves nothing: the renewals decide.
    }
  }
}
