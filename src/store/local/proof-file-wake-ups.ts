/**
 * Wakes waiters through their proof files: a waiter watches its own `alive/<nonce>`, and a release writes one byte into
 * the file of the next waiter. A process has one watch however many wait in it, and no other waiter is woken. A wake-up
 * that gets lost costs a poll, never the lock.
 */
import { type FSWatcher, watch } from "node:fs";
import { join } from "node:path";
import type { KnownProofs } from "../../platform/liveness/known-proofs.js";
import { createListeners } from "./listeners.js";
import type { Waker } from "./liveness-and-wake-ups.js";

export function createProofFileWakeUps(dir: string, others: KnownProofs): Waker {
  const listeners = createListeners();
  const watchers = new Map<string, FSWatcher>();

  /** False when it was watched already: then a wake-up waits in the event loop until somebody listens. */
  const startWatching = (nonce: string): boolean => {
    if (watchers.has(nonce)) return false;
    try {
      const watcher = watch(join(dir, nonce), { persistent: false }, () => listeners.callAll(nonce));
      watcher.on("error", () => stopWatching(nonce));
      watchers.set(nonce, watcher);
    } catch {
      // Out of watches: the waiter polls.
    }
    return true;
  };
  const stopWatching = (nonce: string): void => {
    watchers.get(nonce)?.close();
    watchers.delete(nonce);
  };

  return {
    listen(nonce, ticketId, onWake) {
      return listeners.add(nonce, ticketId, onWake, startWatching(nonce));
    },
    wake(ticket) {
      const { nonce, ticketId, proof } = ticket;
      if (listeners.callOne(nonce, ticketId)) return false;
      return proof.kind === "file" && others.wake(nonce, proof);
    },
    close() {
      for (const nonce of watchers.keys()) stopWatching(nonce);
    },
  };
}
