/**
 * The clock of this machine. `bootMs` counts from boot, includes suspend and ignores jumps of the wall clock. Reading it
 * from the system costs 5 µs, so it is derived from the monotonic clock and looked up again when wall and monotonic
 * clock drift apart, which a suspend or a jump makes them do.
 */
import { uptime } from "node:os";
import { thisMachine } from "./machine.js";

interface ClockReading {
  readonly wallMs: number;
  readonly bootMs: number;
  readonly bootId: string;
  readonly machineId: string;
}

export type Clock = () => ClockReading;

/** The system reports its uptime in steps of 10 ms. */
const UPTIME_GRAIN_MS = 20;
const DRIFT_MS = 20;
/** A look at both clocks that took longer was interrupted: what passed meanwhile would pass for a difference of the clocks. */
// mutant: interrupted-clock: const PROMPT_MS = 5; → const PROMPT_MS = 5_000;
const PROMPT_MS = 5;
const LOOKS = 1_000;

/**
 * Returns how long ago the system stamped a file, by the wall clock, with which it stamps files. Below zero when that
 * clock was set back since.
 */
export function ageOfFile(stampedMs: number): number {
  return Date.now() - stampedMs;
}

function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

export function createSystemClock(): Clock {
  const { bootId, machineId } = thisMachine();
  let wallMinusMonotonic = Number.NaN;
  let bootMinusMonotonic = 0;
  return () => {
    let monotonic = monotonicMs();
    let wallMs = Date.now();
    if (!(Math.abs(wallMs - monotonic - wallMinusMonotonic) < DRIFT_MS)) {
      // mutant: clock-back: Math.max(bootMinusMonotonic, suspendedMs()) → Math.max(0, suspendedMs())
      bootMinusMonotonic = Math.max(bootMinusMonotonic, suspendedMs()); // Slept is slept, however coarsely it is told.
      monotonic = monotonicMs();
      wallMs = Date.now();
      wallMinusMonotonic = wallMs - monotonic;
    }
    return { wallMs, bootMs: monotonic + bootMinusMonotonic, bootId, machineId };
  };
}

/** How long this machine has slept since it booted, by the promptest look at both clocks. Never less than nothing. */
function suspendedMs(): number {
  let promptest = Number.POSITIVE_INFINITY;
  let suspended = 0;
  for (let look = 0; look < LOOKS && promptest > PROMPT_MS; look += 1) {
    const before = monotonicMs();
    const sinceBoot = uptime() * 1_000;
    const after = monotonicMs();
    if (after - before >= promptest) continue;
    promptest = after - before;
    suspended = sinceBoot - after;
  }
  return suspended <= UPTIME_GRAIN_MS ? 0 : suspended;
}
