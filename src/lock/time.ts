/**
 * Instants, each with two clocks. On one boot, and so on one clock, only `bootMs` counts (it includes suspend and ignores
 * jumps of the wall clock); across boots, and where the boot is unknown, only `wallMs` means anything, and then with a margin.
 */
import { isSameBoot } from "../base/boot.js";

export interface Instant {
  readonly wallMs: number;
  readonly bootMs: number;
  /** Empty when it is unknown. */
  readonly bootId: string;
  readonly machineId: string;
}

/** Allowed for clocks that disagree when only the wall clock can be compared. */
const WALL_SKEW_MS = 2_000;

/** Returns the lowest fencing token that may begin a block now: microseconds since 1970, safe integers until 2255. */
export function fenceAt({ wallMs }: Instant): number {
  return Math.floor(wallMs * 1000);
}

/** How long `stamp + durationMs` still is, seen from `now`; zero or less means it has passed. */
export function remainingMs(stamp: Instant, durationMs: number, now: Instant): number {
  return isSameBoot(stamp, now)
    ? stamp.bootMs + durationMs - now.bootMs
    : stamp.wallMs + durationMs + WALL_SKEW_MS - now.wallMs;
}

/** The same for display: never negative, in whole seconds. */
export function remainingSeconds(stamp: Instant, durationMs: number, now: Instant): number {
  return Math.max(0, Math.ceil(remainingMs(stamp, durationMs, now) / 1000));
}

/** How long it is since `stamp`. */
export function elapsedMs(stamp: Instant, now: Instant): number {
  return isSameBoot(stamp, now) ? now.bootMs - stamp.bootMs : now.wallMs - stamp.wallMs;
}

/** Many stamps of one step are of one millisecond, and those of a record of two: the last two are kept. */
let lastMs = Number.NaN;
let lastIso = "";
let earlierMs = Number.NaN;
let earlierIso = "";

export function isoTime(wallMs: number): string {
  if (wallMs === lastMs) return lastIso;
  if (wallMs === earlierMs) return earlierIso;
  earlierMs = lastMs;
  earlierIso = lastIso;
  lastMs = wallMs;
  lastIso = new Date(wallMs).toISOString();
  return lastIso;
}
