/**
 * The way into the guard of the documents, with a queue in front of it. The guard alone is not fair: a process that
 * leaves it and comes back at once finds it free, while others sleep; with fifty processes and a slow disk some would
 * never get in.
 *
 *   line    held by the process that is next. Only that process tries the guard, and often.
 *   guard   held around the step itself.
 *
 * A process that came in through the line lock may enter past it again for fifty milliseconds (a turn): a change of process
 * costs a sleep, so a turn of several steps is faster for all. Then it waits for the line lock like the others. Of the
 * processes that wait for it, the one that has waited longer tries more often.
 *
 * A process that is stopped while it holds the line lock keeps it; so a process that has waited for two seconds tries the
 * guard as well. Not promised: strict first come, first served. Bounded: `E_STORE_UNAVAILABLE` after a minute.
 */
import { setImmediate } from "node:timers/promises";
import { HoldfastError } from "../../base/errors.js";
import { sleep } from "../../base/sleep.js";
import { type Guard, openGuard } from "../../files/guard.js";
import { jittered } from "../../platform/jitter.js";

const TURN_MS = 50;
const SPINS = 20;
const OFTEN = 5;
const IMPATIENT_AFTER_MS = 2_000;
const GIVE_UP_AFTER_MS = 60_000;

export class Entrance {
  readonly #guard: Guard;
  readonly #line: Guard;
  #turnSince = Number.NEGATIVE_INFINITY;

  constructor(guardPath: string) {
    this.#guard = openGuard(guardPath);
    this.#line = openGuard(`${guardPath}.line`);
  }

  async enter(): Promise<void> {
    if (performance.now() - this.#turnSince < TURN_MS && this.#try()) return;
    const startedAt = performance.now();
    const waited = (): number => performance.now() - startedAt;
    while (!this.#line.tryEnter()) {
      if (waited() > IMPATIENT_AFTER_MS && this.#try()) return this.#begin();
      if (waited() > GIVE_UP_AFTER_MS) throw stuck();
      await sleep(jittered(0, waited() > 200 ? 2 : 8));
    }
    try {
      for (let round = 0; !this.#try(); round += 1) {
        if (waited() > GIVE_UP_AFTER_MS) throw stuck();
        if (round < OFTEN) await setImmediate();
        else await sleep(1);
      }
    } finally {
      this.#line.leave();
    }
    this.#begin();
  }

  leave(): void {
    this.#guard.leave();
  }

  close(): void {
    this.#guard.close();
    this.#line.close();
  }

  #begin(): void {
    this.#turnSince = performance.now();
  }

  #try(): boolean {
    for (let spin = 0; spin < SPINS; spin += 1) if (this.#guard.tryEnter()) return true;
    return false;
  }
}

function stuck(): HoldfastError {
  return new HoldfastError("E_STORE_UNAVAILABLE", `the documents were in use for ${GIVE_UP_AFTER_MS / 1000} s`, {
    reason: "busy",
    next: ["Look for a process that was stopped (state T in ps) while it used them, and continue or end it."],
  });
}
