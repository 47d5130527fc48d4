/**
 * One timer for many moments, set to the earliest of them. Most of these moments never arrive: a lease is released
 * before it ends, a waiter is woken before its next poll. So the timer is not moved for those: now and then it fires in
 * vain, which costs less than a timer for each.
 */

/** All that is watched for is looked through when it rings: not more often than this. */
const APART_MS = 3;
/** Of many moments at once the others come with the next ring, so that the program gets on in between. */
// mutant: looks-at-once: const AT_ONCE = 16; → const AT_ONCE = 16_000;
const AT_ONCE = 16;

/** Those timers of this process that keep it alive and are running. */
const running = new Set<SharedTimer>();

export function runningTimers(): number {
  return running.size;
}

export interface Moment {
  /** Milliseconds from now; zero or less means that it has come. */
  leftMs(): number;
  onTime(): void;
}

export class SharedTimer {
  readonly #keepsAlive: boolean;
  readonly #watched = new Set<Moment>();
  #timer: NodeJS.Timeout | undefined;
  /** On the clock of timers. */
  #ringsAt = Number.POSITIVE_INFINITY;
  #hasRungAt = Number.NEGATIVE_INFINITY;

  /** With `keepsAlive`, a program does not end as long as anything is watched for. */
  constructor({ keepsAlive = false }: { readonly keepsAlive?: boolean } = {}) {
    this.#keepsAlive = keepsAlive;
  }

  /** Calls its `onTime` once it has come, unless it was forgotten by then. To be called again when it moves nearer. */
  watch(moment: Moment): void {
    this.#watched.add(moment);
    this.#ringIn(moment.leftMs());
    if (!this.#keepsAlive || this.#watched.size > 1) return;
    running.add(this);
    this.#timer?.ref();
  }

  forget(moment: Moment): void {
    if (!this.#watched.delete(moment) || this.#watched.size > 0) return;
    running.delete(this);
    this.#timer?.unref();
  }

  /** As if all that is watched for had come. */
  ringNow(): void {
    this.#tell([...this.#watched]);
  }

  /** Leaves no timer behind. */
  close(): void {
    clearTimeout(this.#timer);
    this.#ringsAt = Number.POSITIVE_INFINITY;
    this.#watched.clear();
    running.delete(this);
  }

  #ringIn(leftMs: number): void {
    const now = performance.now();
    const at = Math.max(now + Math.max(0, leftMs) + 1, this.#hasRungAt + APART_MS);
    if (at >= this.#ringsAt) return;
    clearTimeout(this.#timer);
    this.#ringsAt = at;
    this.#timer = setTimeout(() => this.#ring(), at - now);
    if (!this.#keepsAlive) this.#timer.unref();
  }

  #ring(): void {
    this.#ringsAt = Number.POSITIVE_INFINITY;
    this.#hasRungAt = performance.now();
    const come: Moment[] = [];
    for (const moment of this.#watched) {
      const leftMs = moment.leftMs();
      // mutant: endings-go-on: .length === AT_ONCE) this.#ringIn(leftMs); → .length === AT_ONCE) continue;
      if (leftMs > 0 || come.length === AT_ONCE) this.#ringIn(leftMs);
      else come.push(moment);
    }
    this.#tell(come);
  }

  /** What one does may be a reason to forget another. */
  #tell(come: readonly Moment[]): void {
    for (const moment of come) if (this.#watched.delete(moment)) moment.onTime();
    if (this.#watched.size === 0) running.delete(this);
  }
}
