/**
 * When the trust in leases runs out: one timer for all leases of a workplace, set to the first of these moments. Most leases
 * are given back long before, and the timer is not moved for that: it rings in vain once in a while, which costs less than
 * a timer for each.
 */
export interface Ending {
  /** Milliseconds from now; zero or less means that it is over. */
  leftMs(): number;
  onEnd(): void;
}

export class Endings {
  readonly #awaited = new Set<Ending>();
  #timer: NodeJS.Timeout | undefined;
  /** On the clock of timers. */
  #ringsAt = Number.POSITIVE_INFINITY;

  /** Calls its `onEnd` once nothing is left, unless it was forgotten by then. Again when its end has moved nearer. */
  await(ending: Ending): void {
    this.#awaited.add(ending);
    this.#ringIn(ending.leftMs());
  }

  forget(ending: Ending): void {
    this.#awaited.delete(ending);
  }

  #ringIn(leftMs: number): void {
    const afterMs = Math.max(0, leftMs) + 1;
    const at = performance.now() + afterMs;
    if (at >= this.#ringsAt) return;
    clearTimeout(this.#timer);
    this.#ringsAt = at;
    this.#timer = setTimeout(() => this.#ring(), afterMs);
    this.#timer.unref();
  }

  #ring(): void {
    this.#ringsAt = Number.POSITIVE_INFINITY;
    for (const ending of [...this.#awaited]) {
      const leftMs = ending.leftMs();
      if (leftMs > 0) this.#ringIn(leftMs);
      else {
        this.forget(ending);
        ending.onEnd();
      }
    }
  }
}
