/** A renewer in the event loop itself: for stores that live in one process, and for callers whose loop is always free. */

import { HoldfastError } from "../../base/errors.js";
import type { Clock } from "../../platform/clock.js";
import type { Locks } from "../../store/contract.js";
import { type Beating, beatEveryMs, type Heart, type Pulse, type Rhythm, renewTo } from "./renewer.js";

export function createLoopHeart(locks: Locks, clock: Clock, rhythm: Rhythm): Heart {
  const timers = new Set<NodeJS.Timeout>();

  function keep(pulse: Pulse): Beating {
    let since = pulse.since;
    let { leaseMs, renewToMs } = pulse;
    let stopped = false;
    let timer: NodeJS.Timeout | undefined;

    const schedule = (inMs = beatEveryMs(leaseMs, rhythm)): void => {
      if (timer !== undefined) timers.delete(timer);
      clearTimeout(timer);
      timer = setTimeout(beat, Math.max(0, inMs));
      timer.unref();
      timers.add(timer);
    };
    const beat = async (): Promise<void> => {
      if (timer !== undefined) timers.delete(timer);
      try {
        const renewed = await renewTo(
          () => renewToMs,
          leaseMs,
          (ms) => locks.renew(pulse.grants, ms),
          clock,
        );
        since = Math.max(since, renewed.since);
        leaseMs = renewed.leaseMs;
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
    schedule(since + beatEveryMs(leaseMs, rhythm) - clock().bootMs);
    return {
      since: () => since,
      leaseMs: () => leaseMs,
      renewing(newLeaseMs) {
        renewToMs = newLeaseMs;
      },
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
