/**
 * Defines the renewer, which renews the leases of a live process. It works beside the main thread, so a busy event loop
 * loses nothing, and stops renewing once the main thread has shown no sign of progress for `maxStall`: a process that
 * hangs must not keep its locks for ever.
 */

import type { HoldfastError } from "../../base/errors.js";
import type { Clock } from "../../platform/clock.js";
import type { GrantRef } from "../../store/contract.js";

/** What a heart needs to know of a lease. */
export interface Pulse {
  readonly grants: readonly GrantRef[];
  /** How long the lease in hand is. */
  readonly leaseMs: number;
  /** How long it is to be from its first renewal on. */
  readonly renewToMs: number;
  /** When the lease was last known good: just before the request that took or renewed it was sent. */
  readonly since: number;
  /** A renewal was refused: the lease is gone. */
  onLost(error: HoldfastError): void;
  /** The outcome of a renewal is unknown (true), or known again (false). */
  onSuspect(isSuspect: boolean): void;
}

/** A lease being kept alive. */
export interface Beating {
  /** The lease is good from this moment on for its duration (milliseconds since boot). */
  since(): number;
  leaseMs(): number;
  /** A renewal to this length is about to be sent by other hands: the heart's own is not to undo it. */
  renewing(leaseMs: number): void;
  /** Notes a renewal made by other hands. */
  renewed(since: number, leaseMs: number): void;
  /** Takes effect at once: no renewal that follows can reach a successor, since each names its own grant. */
  stop(): void;
}

export interface Heart {
  keep(pulse: Pulse): Beating;
  close(): Promise<void>;
}

export interface Rhythm {
  /** Longest time between two beats of a lease. */
  readonly heartbeatMs: number;
  /** Longest stall of the main thread; null means five leases. */
  readonly maxStallMs: number | null;
}

/** Three beats in a lease at least, so that one may fail. */
export function beatEveryMs(leaseMs: number, { heartbeatMs }: Rhythm): number {
  return Math.min(heartbeatMs, leaseMs / 3);
}

const MOST_OFTEN_MS = 100;
const MOST_SELDOM_MS = 1_000;

/** How often a heart looks whether a beat of such a lease is due: it may come late by a tenth of the time between two. */
export function lookEveryMs(leaseMs: number, rhythm: Rhythm): number {
  return Math.min(MOST_SELDOM_MS, Math.max(MOST_OFTEN_MS, beatEveryMs(leaseMs, rhythm) / 10));
}

const SHOWN_MOST_SELDOM_MS = 500;

/** How often the main thread shows that it makes progress: some times in the shortest stall that counts. */
export function showEveryMs({ maxStallMs }: Rhythm): number {
  return Math.min(SHOWN_MOST_SELDOM_MS, (maxStallMs ?? Number.POSITIVE_INFINITY) / 5);
}

export function maxStallOf(leaseMs: number, { maxStallMs }: Rhythm): number {
  return maxStallMs ?? 5 * leaseMs;
}

/**
 * One beat. When a renewal to another length was sent by other hands meanwhile, this one may have undone it: then it is
 * made once more. Answers since when the lease is how long.
 */
export async function renewTo(
  wantedMs: () => number,
  leaseMs: number,
  renew: (leaseMs: number | null) => Promise<unknown>,
  clock: Clock,
): Promise<{ readonly since: number; readonly leaseMs: number }> {
  let sentMs = wantedMs();
  for (let ask = sentMs === leaseMs ? null : sentMs; ; ask = sentMs) {
    const since = clock().bootMs;
    await renew(ask);
    if (wantedMs() === sentMs) return { since, leaseMs: sentMs };
    sentMs = wantedMs();
  }
}
