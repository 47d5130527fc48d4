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
  readonly #watched = new Set<Ending>();
  #timer: NodeJS.Timeout | undefined;
  /** On the clock of timers. */
  #ringsAt = Number.POSITIVE_INFINITY;

  /** Calls its `onEnd` once nothing is left, unless it was forgotten by then. To be called again when its end moves nearer. */
  watch(ending: Ending): void {
    this.#watched.add(ending);
    this.#ringIn(ending.leftMs());
  }

  forget(ending: Ending): void {
    this.#watched.delete(ending);
  }

  /** Leaves no timer behind. */
  close(): void {
    clearTimeout(this.#timer);
    this.#watched.clear();
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
    const over: Ending[] = [];
    for (const ending of this.#watched) {
      const leftMs = ending.leftMs();
      if (leftMs > 0) this.#ringIn(leftMs);
      else over.push(ending);
    }
    // The end of one may be a reason to give back another.
    for (const ending of over) if (this.#watched.delete(ending)) ending.onEnd();
  }
}
