/**
 * The clock of this machine. `bootMs` counts from boot, includes suspend and ignores jumps of the wall clock; it is the
 * kernel's own, whatever time namespace the process is in. Reading it from the system costs 5 µs, so it is derived from
 * the monotonic clock and looked up again when wall and monotonic clock drift apart, which a suspend, a jump or a restored
 * checkpoint makes them do.
 */
import { uptime } from "node:os";
import { type ClockShift, readClockShift } from "./boot.js";
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
  let suspended = 0;
  let bootMinusMonotonic = 0;
  return () => {
    let monotonic = monotonicMs();
    let wallMs = Date.now();
    if (!(Math.abs(wallMs - monotonic - wallMinusMonotonic) < DRIFT_MS)) {
      const shift = readClockShift() ?? { monotonicMs: 0, boottimeMs: 0 };
      // mutant: clock-back: suspended = Math.max(suspended, suspendedMs(shift)) → suspended = suspendedMs(shift)
      suspended = Math.max(suspended, suspendedMs(shift)); // Slept is slept, however coarsely it is told.
      // mutant: clock-shift: suspended - shift.monotonicMs → suspended
      bootMinusMonotonic = suspended - shift.monotonicMs;
      monotonic = monotonicMs();
      wallMs = Date.now();
      wallMinusMonotonic = wallMs - monotonic;
    }
    return { wallMs, bootMs: monotonic + bootMinusMonotonic, bootId, machineId };
  };
}

/**
 * For stores whose stamps never leave this process: they compare with its clock by whatever boot, so where the boot is
 * unknown, the process stands for it.
 */
export function createProcessClock(): Clock {
  const clock = createSystemClock();
  if (thisMachine().bootId !== "") return clock;
  // mutant: process-clock: bootId: "this process" → bootId: ""
  return () => ({ ...clock(), bootId: "this process" });
}

/**
 * How long this machine has slept since it booted, by the promptest look at both clocks. Never less than nothing. Only
 * Linux has a monotonic clock that stands still meanwhile; elsewhere the uptime would add nothing but its grain of a second.
 */
function suspendedMs({ monotonicMs: ahead, boottimeMs: bootAhead }: ClockShift): number {
  // mutant: clock-grain: if (process.platform !== "linux") return 0; →
  if (process.platform !== "linux") return 0;
  let promptest = Number.POSITIVE_INFINITY;
  let suspended = 0;
  for (let look = 0; look < LOOKS && promptest > PROMPT_MS; look += 1) {
    const before = monotonicMs();
    const sinceBoot = uptime() * 1_000;
    const after = monotonicMs();
    if (after - before >= promptest) continue;
    promptest = after - before;
    suspended = sinceBoot - bootAhead - (after - ahead);
  }
  return suspended <= UPTIME_GRAIN_MS ? 0 : suspended;
}
