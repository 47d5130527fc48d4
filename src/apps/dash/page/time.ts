/** Formats times and time spans for people. Pure. */

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** As on the command line: `45 s`, `3 min`, `2 h 5 min`; `3 d 4 h`. */
export function span(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 2 * MINUTE) return `${whole} s`;
  const minutes = Math.round(whole / MINUTE);
  return minutes < 120 ? `${minutes} min` : long(minutes * MINUTE);
}

/** To the second below an hour, because it is watched: `14 min 32 s`. */
export function countdown(seconds: number): string {
  const whole = Math.max(0, Math.ceil(seconds));
  if (whole < MINUTE) return `${whole} s`;
  return whole < HOUR ? two(whole, MINUTE, "min", 1, "s") : long(whole);
}

function long(seconds: number): string {
  return seconds < DAY ? two(seconds, HOUR, "h", MINUTE, "min") : two(seconds, DAY, "d", HOUR, "h");
}

function two(seconds: number, size: number, unit: string, smaller: number, smallUnit: string): string {
  const rest = Math.floor((seconds % size) / smaller);
  return `${Math.floor(seconds / size)} ${unit}${rest === 0 ? "" : ` ${rest} ${smallUnit}`}`;
}

export interface LeaseLeft {
  readonly isOver: boolean;
  /** `14 min 32 s`, or `expired 12 s ago`. */
  readonly text: string;
  /** Of the whole lease, 0 to 1. */
  readonly share: number;
}

export function leaseLeft(expiresAt: string, durationS: number, nowMs: number): LeaseLeft {
  const left = (Date.parse(expiresAt) - nowMs) / 1_000;
  if (left > 0)
    return { isOver: false, text: countdown(left), share: durationS > 0 ? Math.min(1, left / durationS) : 1 };
  return { isOver: true, text: `expired ${ago(-left)}`, share: 0 };
}

export function ago(seconds: number): string {
  return seconds < 1 ? "just now" : `${span(Math.floor(seconds))} ago`;
}

export function secondsSince(iso: string, nowMs: number): number {
  return (nowMs - Date.parse(iso)) / 1_000;
}

/** `17:40:12`, with the date when it is not today's. */
export function clockTime(iso: string, nowMs: number): string {
  const at = new Date(iso);
  const time = `${twoDigits(at.getHours())}:${twoDigits(at.getMinutes())}:${twoDigits(at.getSeconds())}`;
  return at.toDateString() === new Date(nowMs).toDateString() ? time : `${dateOf(at)} ${time}`;
}

/** With date and time zone, for whoever wants to know exactly. */
export function fullTime(iso: string): string {
  const at = new Date(iso);
  const offset = -at.getTimezoneOffset();
  const zone = `${offset < 0 ? "-" : "+"}${twoDigits(Math.floor(Math.abs(offset) / 60))}:${twoDigits(Math.abs(offset) % 60)}`;
  return `${dateOf(at)} ${clockTime(iso, at.getTime())} ${zone}`;
}

function dateOf(at: Date): string {
  return `${at.getFullYear()}-${twoDigits(at.getMonth() + 1)}-${twoDigits(at.getDate())}`;
}

function twoDigits(number: number): string {
  return String(number).padStart(2, "0");
}
