/**
 * How long a lease may be trusted: from just before the last request that the store granted was sent, for the lease's
 * duration, less a margin, so that its holder stops before anybody else may start. The heart moves that moment on; when it
 * does not, the alarm goes off.
 */
import type { Clock } from "../support/clock.js";
import type { Beating, Heart, Pulse } from "./heart.js";

/** How long before its end a lease counts as lost: a tenth of it, at most a second. */
export function marginMs(leaseMs: number): number {
  return Math.min(1_000, leaseMs / 10);
}

export class Trust {
  readonly #clock: Clock;
  readonly #onExpiry: () => void;
  #beating: Beating | null;
  #since: number;
  #leaseMs: number;
  #askedMs: number;
  #alarm: NodeJS.Timeout | undefined;

  /** Without a heart nobody renews: a detached lease is trusted once. */
  constructor(clock: Clock, heart: Heart | null, pulse: Pulse, onExpiry: () => void) {
    this.#clock = clock;
    this.#onExpiry = onExpiry;
    this.#since = pulse.since;
    this.#leaseMs = pulse.leaseMs;
    this.#askedMs = pulse.renewToMs;
    this.#beating = heart?.keep(pulse) ?? null;
    this.#setAlarm();
  }

  /** Milliseconds from now; zero or less means that it is over. */
  leftMs(): number {
    const leaseMs = this.leaseMs();
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
  }

  renewed(since: number, leaseMs: number): void {
    this.#since = since;
    this.#leaseMs = leaseMs;
    this.#askedMs = leaseMs;
    this.#beating?.renewed(since, leaseMs);
    this.#setAlarm();
  }

  stop(): void {
    this.#since = this.since();
    this.#leaseMs = this.leaseMs();
    this.#beating?.stop();
    this.#beating = null;
    clearTimeout(this.#alarm);
  }

  #setAlarm(): void {
    clearTimeout(this.#alarm);
    this.#alarm = setTimeout(() => this.#check(), Math.max(0, this.leftMs()) + 1);
    this.#alarm.unref();
  }

  #check(): void {
    if (this.leftMs() > 0) this.#setAlarm();
    else this.#onExpiry();
  }
}
