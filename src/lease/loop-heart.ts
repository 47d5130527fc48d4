/** A heart in the event loop itself: for stores that live in one process, and for callers whose loop is always free. */
import type { Locks } from "../store/contract.js";
import type { Clock } from "../support/clock.js";
import { HoldfastError } from "../support/errors.js";
import { type Beating, beatEveryMs, type Heart, type Pulse, type Rhythm } from "./heart.js";

export function createLoopHeart(locks: Locks, clock: Clock, rhythm: Rhythm): Heart {
  const timers = new Set<NodeJS.Timeout>();

  function keep(pulse: Pulse): Beating {
    let since = pulse.since;
    let { leaseMs, renewToMs } = pulse;
    let stopped = false;
    let timer: NodeJS.Timeout | undefined;

    const schedule = (): void => {
      if (timer !== undefined) timers.delete(timer);
      clearTimeout(timer);
      timer = setTimeout(beat, beatEveryMs(leaseMs, rhythm));
      timer.unref();
      timers.add(timer);
    };
    const beat = async (): Promise<void> => {
      if (timer !== undefined) timers.delete(timer);
      const sentAt = clock().bootMs;
      try {
        await locks.renew(pulse.grants, renewToMs === leaseMs ? null : renewToMs);
        since = Math.max(since, sentAt);
        leaseMs = renewToMs;
        if (!stopped) pulse.onSuspect(false);
      } catch (error) {
        if (stopped) return;
        if (!(error instanceof HoldfastError) || error.retryable || error.code === "E_IO") pulse.onSuspect(true);
        else {
          stopped = true;
          pulse.onLost(error);
        }
      }
      if (!stopped) schedule();
    };
    schedule();
    return {
      since: () => since,
      leaseMs: () => leaseMs,
      renewed(newSince, newLeaseMs) {
        since = Math.max(since, newSince);
        leaseMs = newLeaseMs;
        renewToMs = newLeaseMs;
        if (!stopped) schedule();
      },
      stop() {
        stopped = true;
        clearTimeout(timer);
        if (timer !== undefined) timers.delete(timer);
      },
    };
  }

  return {
    keep,
    async close() {
      for (const timer of timers) clearTimeout(timer);
      timers.clear();
    },
  };
}
