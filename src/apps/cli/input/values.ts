/** Checks the value of a flag by its type, and gives a command the values of its arguments and flags. */
import { HoldfastError } from "../../../base/errors.js";
import {
  type AnyWords,
  type ArgumentSpecs,
  type FlagSpec,
  type FlagSpecs,
  GLOBAL_FLAGS,
  type Named,
} from "../command.js";

export type Value = boolean | string | number | readonly string[] | Readonly<Record<string, string>>;

const DURATION = /^\d+(\.\d+)?(ms|s|m|h)$|^0$/;

/** `before` is what earlier uses of the same flag gave. */
export function flagValue(flag: Named<FlagSpec>, text: string, before: Value | undefined): Value {
  if (flag.choices !== undefined && !flag.choices.includes(text))
    throw bad(flag, `${JSON.stringify(text)} is none of ${flag.choices.join(", ")}`);
  const value = single(flag, text);
  if (flag.type === "pairs") return merged(flag, (before ?? {}) as object, value as object);
  if (flag.repeat === true) return [...((before as readonly string[] | undefined) ?? []), String(value)];
  return value;
}

function merged(flag: Named<FlagSpec>, before: object, pair: object): Readonly<Record<string, string>> {
  const twice = Object.keys(pair).find((name) => Object.hasOwn(before, name));
  if (twice !== undefined) throw bad(flag, `${twice} was given twice`);
  return { ...before, ...pair };
}

function single(flag: Named<FlagSpec>, text: string): Value {
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
function timeOf(flag: Named<FlagSpec>, text: string): string {
  const [, count, unit = ""] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text) ?? [];
  const units: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
  const [sign, meaning] = flag.isAhead ? [1, "that long from now"] : [-1, "that long ago"];
  const ms = count === undefined ? Date.parse(text) : Date.now() + sign * Number(count) * (units[unit] ?? 1);
  if (!Number.isFinite(ms))
    throw bad(flag, `${JSON.stringify(text)} is no time; write 2026-01-31T12:00:00Z, or 15m for ${meaning}`);
  return new Date(ms).toISOString();
}

function bad({ name }: Named<FlagSpec>, message: string): HoldfastError {
  return new HoldfastError("E_INVALID_ARGUMENT", `--${name}: ${message}`, { details: { field: name } });
}

/** The flags as `run` gets them: false or an empty list for a boolean or a repeatable one that was not given. */
export function flagsFor(own: FlagSpecs | undefined, typed: ReadonlyMap<string, Value>): AnyWords["flags"] {
  const specs: FlagSpecs = { ...GLOBAL_FLAGS, ...own };
  const values = Object.entries(specs).map(([name, { type, repeat }]) => {
    const absent = type === "boolean" ? false : repeat === true ? [] : undefined;
    return [name, typed.get(name) ?? absent];
  });
  return Object.fromEntries(values);
}

/** The arguments as `run` gets them: a list for one that takes many words, undefined for one that was left out. */
export function argumentsFor(
  specs: ArgumentSpecs | undefined,
  typed: ReadonlyMap<string, readonly string[]>,
): AnyWords["args"] {
  const values = Object.entries(specs ?? {}).map(([name, { many }]) => {
    const words = typed.get(name) ?? [];
    return [name, many === true ? words : words[0]];
  });
  return Object.fromEntries(values);
}
