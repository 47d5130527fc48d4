/** Parses durations as people write them: a number of milliseconds, or `500ms`, `30s`, `15m`, `2h`. */
import { invalidArgument } from "./errors.js";

export type Duration = number | string;

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
const FORM = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/;

export interface Limits {
  readonly atLeastMs: number;
  readonly atMostMs: number;
}

/** `E_INVALID_ARGUMENT` naming the field when it is malformed or out of bounds. */
export function parseDuration(value: Duration, field: string, { atLeastMs, atMostMs }: Limits): number {
  const ms = typeof value === "string" ? fromText(value, field) : value;
  if (typeof ms !== "number" || !Number.isFinite(ms))
    throw invalidArgument(field, "a duration such as 500ms, 30s, 15m, 2h");
  if (ms < atLeastMs || ms > atMostMs)
    throw invalidArgument(
      field,
      `between ${showDuration(atLeastMs)} and ${showDuration(atMostMs)}, not ${showDuration(ms)}`,
    );
  return Math.round(ms);
}

function fromText(text: string, field: string): number {
  const match = FORM.exec(text);
  const unit = UNITS[match?.[2] ?? ""];
  if (match === null || unit === undefined)
    throw invalidArgument(field, `${JSON.stringify(text)} is no duration; write 500ms, 30s, 15m or 2h`);
  return Number(match[1]) * unit;
}

export function showDuration(ms: number): string {
  for (const unit of ["h", "m", "s"]) {
    const size = UNITS[unit] ?? 1;
    if (ms >= size && ms % size === 0) return `${ms / size}${unit}`;
  }
  return `${ms}ms`;
}
