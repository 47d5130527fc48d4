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

function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

export function createSystemClock(): Clock {
  const { bootId, machineId } = thisMachine();
  let wallMinusMonotonic = Number.NaN;
  let bootMinusMonotonic = 0;
  return () => {
    const monotonic = monotonicMs();
    const wallMs = Date.now();
    if (!(Math.abs(wallMs - monotonic - wallMinusMonotonic) < DRIFT_MS)) {
      wallMinusMonotonic = wallMs - monotonic;
      const suspended = uptime() * 1000 - monotonicMs();
      bootMinusMonotonic = Math.abs(suspended) <= UPTIME_GRAIN_MS ? 0 : suspended;
    }
    return { wallMs, bootMs: monotonic + bootMinusMonotonic, bootId, machineId };
  };
}
