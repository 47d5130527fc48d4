/** The value behind a flag, checked by its type. */
import { HoldfastError } from "../support/errors.js";
import type { FlagRow } from "./row.js";

export type Value = boolean | string | number | readonly string[] | Readonly<Record<string, string>>;

const DURATION = /^\d+(\.\d+)?(ms|s|m|h)$|^0$/;

/** `before` is what earlier uses of the same flag gave. */
export function flagValue(flag: FlagRow, text: string, before: Value | undefined): Value {
  if (flag.choices !== undefined && !flag.choices.includes(text))
    throw bad(flag, `${JSON.stringify(text)} is none of ${flag.choices.join(", ")}`);
  const value = single(flag, text);
  if (flag.type === "pairs") return merged(flag, (before ?? {}) as object, value as object);
  if (flag.repeat === true) return [...((before as readonly string[] | undefined) ?? []), String(value)];
  return value;
}

function merged(flag: FlagRow, before: object, pair: object): Readonly<Record<string, string>> {
  const twice = Object.keys(pair).find((name) => Object.hasOwn(before, name));
  if (twice !== undefined) throw bad(flag, `${twice} was given twice`);
  return { ...before, ...pair };
}

function single(flag: FlagRow, text: string): Value {
  switch (flag.type) {
    case "duration":
      if (!DURATION.test(text)) throw bad(flag, `${JSON.stringify(text)} is no duration; write 500ms, 30s, 15m or 2h`);
      return text === "0" ? "0ms" : text;
    case "integer":
      if (!/^-?\d{1,16}$/.test(text)) throw bad(flag, `${JSON.stringify(text)} is no whole number`);
      return Number(text);
    case "pairs": {
      const at = text.indexOf("=");
      if (at < 1) throw bad(flag, `${JSON.stringify(text)} is not name=value`);
      return { [text.slice(0, at)]: text.slice(at + 1) };
    }
    case "time":
      return timeOf(flag, text);
    default:
      if (text === "") throw bad(flag, "is empty");
      return text;
  }
}

/** A moment, as ISO text: given as such, or as how far from now (`15m`). */
function timeOf(flag: FlagRow, text: string): string {
  const [, count, unit = ""] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text) ?? [];
  const units: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
  const [sign, meaning] = flag.isAhead ? [1, "that long from now"] : [-1, "that long ago"];
  const ms = count === undefined ? Date.parse(text) : Date.now() + sign * Number(count) * (units[unit] ?? 1);
  if (!Number.isFinite(ms))
    throw bad(flag, `${JSON.stringify(text)} is no time; write 2026-01-31T12:00:00Z, or 15m for ${meaning}`);
  return new Date(ms).toISOString();
}

function bad({ name }: FlagRow, message: string): HoldfastError {
  return new HoldfastError("E_INVALID_ARGUMENT", `--${name}: ${message}`, { details: { field: name } });
}
