/** Keeps the waiters of this process that listen for wake-ups, by process nonce and ticket. */

import type { Listening } from "../contract.js";

export interface Listeners {
  add(nonce: string, ticketId: string, onWake: () => void, mayHaveMissed: boolean): Listening;
  /** False when nobody here waits with this ticket. */
  callOne(nonce: string, ticketId: string): boolean;
  callAll(nonce: string): void;
}

const NOBODY: readonly (() => void)[] = [];

/** A class: the engine is slow to make an object with a computed name. */
class OneOfThem implements Listening {
  readonly mayHaveMissed: boolean;
  readonly #all: ByNonce;
  readonly #nonce: string;
  readonly #ticketId: string;

  constructor(all: ByNonce, nonce: string, ticketId: string, mayHaveMissed: boolean) {
    this.mayHaveMissed = mayHaveMissed;
    this.#all = all;
    this.#nonce = nonce;
    this.#ticketId = ticketId;
  }

  [Symbol.dispose](): void {
    const tickets = this.#all.get(this.#nonce);
    if (tickets?.delete(this.#ticketId) && tickets.size === 0) this.#all.delete(this.#nonce);
  }
}

type ByNonce = Map<string, Map<string, () => void>>;

export function createListeners(): Listeners {
  const byNonce: ByNonce = new Map();
  return {
    add(nonce, ticketId, onWake, mayHaveMissed) {
      const tickets = byNonce.get(nonce) ?? new Map<string, () => void>();
      byNonce.set(nonce, tickets.set(ticketId, onWake));
      return new OneOfThem(byNonce, nonce, ticketId, mayHaveMissed);
    },
    callOne(nonce, ticketId) {
      const onWake = byNonce.get(nonce)?.get(ticketId);
      onWake?.();
      return onWake !== undefined;
    },
    callAll(nonce) {
      for (const onWake of byNonce.get(nonce)?.values() ?? NOBODY) onWake();
    },
  };
}
