/**
 * Converts holds to bars over a time span. Pure. Holds at the same time, as of readers, lie in separate lanes. Holds
 * that are too short to be distinguished are one bar together; the clock and not the window decides which holds belong
 * together, so bars stay the same while the window moves on.
 */
import type { HoldEnd, HoldSpan } from "../../views.js";

export type Holds = readonly [HoldSpan, ...HoldSpan[]];

export interface Bar {
  readonly id: string;
  /** More than one when they are too short to be told apart. */
  readonly spans: Holds;
  /** Shares of the window, 0 to 1. */
  readonly left: number;
  readonly width: number;
  readonly lane: number;
  /** How they ended; of several the end that is worth most attention. */
  readonly ended: HoldEnd;
}

export interface Window {
  readonly sinceMs: number;
  readonly nowMs: number;
  readonly widthPx: number;
}

const LEAST_PX = 4;
const MOST_LANES = 6;
const WEIGHT: readonly HoldEnd[] = ["released", null, "lapsed", "recovered", "stolen", "broken"];

export function barsOf(
  spans: readonly HoldSpan[],
  window: Window,
): { readonly bars: readonly Bar[]; readonly lanes: number } {
  const { sinceMs, nowMs, widthPx } = window;
  const lengthMs = Math.max(1, nowMs - sinceMs);
  const leastMs = (LEAST_PX * lengthMs) / Math.max(1, widthPx);
  const ends: number[] = [];
  const bars: Bar[] = [];
  for (const group of grouped(spans, leastMs, window)) {
    const [first] = group;
    const fromMs = Math.max(sinceMs, Math.min(...group.map(({ from }) => Date.parse(from))));
    const toMs = Math.min(nowMs, Math.max(fromMs + leastMs, ...group.map((span) => endOf(span, nowMs))));
    const free = ends.findIndex((end) => end <= fromMs);
    const lane = free !== -1 ? free : Math.min(ends.length, MOST_LANES - 1);
    ends[lane] = Math.max(toMs, ends[lane] ?? 0);
    const left = Math.min(fromMs, nowMs - leastMs);
    bars.push({
      id: `${first.lock_id} ${first.from}`,
      spans: group,
      left: share(left - sinceMs, lengthMs),
      width: share(toMs - left, lengthMs),
      lane,
      ended: worst(group),
    });
  }
  return { bars, lanes: Math.max(1, ends.length) };
}

type Group = [HoldSpan, ...HoldSpan[]];

/** By when they began; neighbours that are too short together. */
function grouped(spans: readonly HoldSpan[], leastMs: number, { sinceMs, nowMs }: Window): Group[] {
  const groups: Group[] = [];
  let slot: number | null = null;
  const seen = spans.filter((span) => endOf(span, nowMs) >= sinceMs && Date.parse(span.from) <= nowMs);
  for (const span of seen.sort((one, other) => Date.parse(one.from) - Date.parse(other.from))) {
    const fromMs = Date.parse(span.from);
    const isShort = span.to !== null && endOf(span, nowMs) - fromMs < leastMs;
    const ownSlot = isShort ? Math.floor(fromMs / (2 * leastMs)) : null;
    if (ownSlot !== null && ownSlot === slot) groups.at(-1)?.push(span);
    else groups.push([span]);
    slot = ownSlot;
  }
  return groups;
}

function endOf({ to }: HoldSpan, nowMs: number): number {
  return to === null ? nowMs : Date.parse(to);
}

function share(part: number, whole: number): number {
  return Math.min(1, Math.max(0, part / whole));
}

function worst(group: Group): HoldEnd {
  return group.map(({ ended }) => ended).sort((one, other) => WEIGHT.indexOf(other) - WEIGHT.indexOf(one))[0] ?? null;
}

/** Where lines are drawn: whole minutes that are not too close together. */
export function ticksOf({ sinceMs, nowMs, widthPx }: Window, leastPx = 72): readonly { at: number; left: number }[] {
  const lengthMs = nowMs - sinceMs;
  const steps = [1, 2, 5, 10, 15, 30].map((minutes) => minutes * 60_000);
  const step = steps.find((ms) => (ms / lengthMs) * widthPx >= leastPx) ?? 60 * 60_000;
  const ticks = [];
  for (let at = Math.ceil(sinceMs / step) * step; at <= nowMs; at += step)
    ticks.push({ at, left: share(at - sinceMs, lengthMs) });
  return ticks;
}
