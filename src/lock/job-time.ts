/**
 * The time of what a worker keeps in the tables of jobs: an end in milliseconds, and the epoch whose clock it is by. An epoch
 * is a boot, or the calendar where the boot of the worker is unknown. What is kept by the clock of another boot is over; by
 * that of a boot seen from where the own one is unknown, it is not known to be.
 */
import type { Instant } from "./time.js";

/** The epoch of those who do not know their boot. */
export const BY_CALENDAR = "calendar";

/** What a step knows of the time: a clock that only goes forward while `epoch` is the same, and the calendar's. */
export interface EpochTime {
  readonly ms: number;
  readonly epoch: string;
  readonly wallMs: number;
}

export function epochTimeOf({ bootId, bootMs, wallMs }: Instant): EpochTime {
  // mutant: job-unknown-boot: if (bootId === "") return { ms: wallMs, epoch: BY_CALENDAR, wallMs }; →
  if (bootId === "") return { ms: wallMs, epoch: BY_CALENDAR, wallMs };
  // mutant: job-calendar: ms: bootMs, → ms: wallMs,
  return { ms: bootMs, epoch: bootId, wallMs };
}

/** SQL that is true of a row with `epoch` and `until_ms` whose end has passed. Its parameters are those of `endedBy`. */
// mutant: job-other-epoch: ELSE ?1 <> '${BY_CALENDAR}' END → ELSE ?1 <> '' END
export const HAS_ENDED = `CASE WHEN epoch = ?1 THEN until_ms < ?2 WHEN epoch = '${BY_CALENDAR}' THEN until_ms < ?3 ELSE ?1 <> '${BY_CALENDAR}' END`;

/** The values of `?1` to `?3`; `agoMs` asks for what has ended so long ago. */
export function endedBy({ epoch, ms, wallMs }: EpochTime, agoMs = 0): readonly [string, number, number] {
  return [epoch, ms - agoMs, wallMs - agoMs - CALENDAR_SKEW_MS];
}

const CALENDAR_SKEW_MS = 2_000;
