/**
 * Computes how long a lease may be trusted: from just before the last request that the store granted was sent, for the
 * lease's duration, less a margin, so that its holder stops before another may start. Each renewal moves that moment
 * on; without one, the alarm goes off.
 */

import type { Moment, SharedTimer } from "../../base/shared-timer.js";
import type { Clock } from "../../platform/clock.js";
import type { Beating, Heart, Pulse } from "../renewing/renewer.js";

/** How long before its end a lease counts as lost: a tenth of it, at most a second. */
export function marginMs(leaseMs: number): number {
  // mutant: trust-margin: return Math.min(1_000, leaseMs / 10); → return 0;
  return Math.min(1_000, leaseMs / 10);
}

/** What a lease is trusted by. */
export interface Surety {
  readonly clock: Clock;
  /** Without a heart nobody renews: a detached lease is trusted once. */
  readonly heart: Heart | null;
  readonly endings: SharedTimer;
}

export class Trust implements Moment {
  readonly onTime: () => void;
  readonly #clock: Clock;
  readonly #endings: SharedTimer;
  #beating: Beating | null;
  #since: number;
  #leaseMs: number;
  #askedMs: number;
  #isStopped = false;

  constructor({ clock, heart, endings }: Surety, pulse: Pulse, onEnd: () => void) {
    this.onTime = onEnd;
    this.#clock = clock;
    this.#endings = endings;
    this.#since = pulse.since;
    this.#leaseMs = pulse.leaseMs;
    this.#askedMs = pulse.renewToMs;
    this.#beating = heart?.keep(pulse) ?? null;
    this.#watch();
  }

  /** Milliseconds from now; zero or less means that it is over. */
  leftMs(): number {
    const leaseMs = this.leaseMs();
    // mutant: trust-on-time: this.since() + leaseMs - marginMs(leaseMs) - this.#clock().bootMs → Number.MAX_SAFE_INTEGER
    return this.since() + leaseMs - marginMs(leaseMs) - this.#clock().bootMs;
  }

  since(): number {
    return Math.max(this.#since, this.#beating?.since() ?? 0);
  }

  /** Never longer than was asked for last, whatever a beat under way at that moment brings back. */
  leaseMs(): number {
    return Math.min(this.#askedMs, this.#beating?.leaseMs() ?? this.#leaseMs);
  }

  /** A renewal to this length is about to be sent. */
  renewing(leaseMs: number): void {
    this.#askedMs = Math.min(this.#askedMs, leaseMs);
    this.#beating?.renewing(leaseMs);
    // mutant: nearer-end: this.#watch(); →
    this.#watch();
  }

  renewed(since: number, leaseMs: number): void {
    this.#since = since;
    this.#leaseMs = leaseMs;
    this.#askedMs = leaseMs;
    this.#beating?.renewed(since, leaseMs);
    this.#watch();
  }

  stop(): void {
    this.#isStopped = true;
    this.#since = this.since();
    this.#leaseMs = this.leaseMs();
    this.#beating?.stop();
    this.#beating = null;
    this.#endings.forget(this);
  }

  /** An answer that comes after it was stopped is noted, and no reason to watch again. */
  #watch(): void {
    // mutant: stopped-trust: if (!this.#isStopped) this.#endings.watch(this); → this.#endings.watch(this);
    if (!this.#isStopped) this.#endings.watch(this);
  }
}
