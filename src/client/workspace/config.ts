/**
 * Reads `holdfast.config.json` beside `.holdfast/`: the whole file, checked field by field. A field without a check is
 * refused. Features bring the checks of their own fields: see features/configuration.ts.
 */
import { join } from "node:path";
import { type Duration, parseDuration } from "../../base/duration.js";
import { type ErrorReason, HoldfastError } from "../../base/errors.js";
import { withoutByteOrderMark } from "../../base/without-byte-order-mark.js";
import { textIfThere } from "../../files/if-there.js";
import type { Profile } from "../../lock/grant.js";
import { checkSettings } from "../../lock/settings.js";
import { parseLease, parseOwner, parseWait, SOME_TIME } from "../options.js";

export const CONFIG_FILE = "holdfast.config.json";

export interface Config {
  readonly store?: string;
  readonly owner?: string;
  readonly ttl?: Duration;
  readonly wait?: Duration;
  readonly heartbeat?: Duration;
  readonly maxStall?: Duration;
  readonly grace?: Duration;
  readonly order?: "free" | "strict";
  readonly levels?: readonly string[];
  readonly profiles?: Readonly<Record<string, Profile>>;
}

/** Says what is wrong with the value of a field, or returns null. */
type Check = (value: unknown) => string | null;

/** A check for each field of a configuration. */
export type Checks<C> = Readonly<Record<keyof C, Check>>;

const isText: Check = (value) => (typeof value === "string" && value !== "" ? null : "is to be text");
const isDuration: Check = (value) =>
  typeof value === "number" || (typeof value === "string" && /^\d+(\.\d+)?(ms|s|m|h)$/.test(value))
    ? null
    : "is to be a duration such as 500ms, 30s, 15m, 2h";

function isSomeTime(field: string): Check {
  return (value) => isDuration(value) ?? asChecked(() => parseDuration(value as Duration, field, SOME_TIME));
}

/** One row a field. A new field that is not a feature's needs a row here and in `Config`. */
const FIELDS: Checks<Config> = {
  store: isText,
  owner: (value) => asChecked(() => parseOwner(value as string)),
  ttl: (value) => isDuration(value) ?? asChecked(() => parseLease(value as Duration)),
  wait: (value) => isDuration(value) ?? asChecked(() => parseWait(value as Duration)),
  heartbeat: isSomeTime("heartbeat"),
  maxStall: isSomeTime("maxStall"),
  grace: isSomeTime("grace"),
  order: (value) => (value === "free" || value === "strict" ? null : "is to be free or strict"),
  levels: (value) => asChecked(() => checkSettings({ levels: value as readonly string[] })),
  profiles: (value) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? asChecked(() => checkSettings({ profiles: value as Readonly<Record<string, Profile>> }))
      : "is to be an object: a profile for each key prefix",
};

export const CONFIG_FIELDS = Object.keys(FIELDS) as readonly (keyof Config)[];

/**
 * Returns the configuration of a workspace, with the fields of features that `checks` names; empty when there is no file.
 * Throws `E_CONFIG` naming the field, `E_IO`.
 */
export function readConfig<F extends object>(root: string, checks: Checks<F>): Config & Partial<F> {
  const path = join(root, CONFIG_FILE);
  const text = textIfThere(path);
  if (text === null) return {};
  return parseConfig(text, path, { ...FIELDS, ...checks }) as Config & Partial<F>;
}

function parseConfig(text: string, path: string, checks: Readonly<Record<string, Check>>): object {
  let value: unknown;
  try {
    value = JSON.parse(withoutByteOrderMark(text));
  } catch (cause) {
    throw configError("invalid_file", path, null, `is no JSON: ${(cause as Error).message}`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw configError("invalid_file", path, null, "is to be a JSON object");
  for (const [field, each] of Object.entries(value)) {
    const check = Object.hasOwn(checks, field) ? checks[field] : undefined;
    if (check === undefined && field !== "$schema")
      throw configError("unknown_field", path, field, `is no field; the fields are ${Object.keys(checks).join(", ")}`);
    const problem = check?.(each) ?? null;
    if (problem !== null) throw configError("invalid_value", path, field, problem);
  }
  return value;
}

/** Makes a check of a parser that throws. */
export function asChecked(check: () => unknown): string | null {
  try {
    check();
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

function configError(
  reason: ErrorReason<"E_CONFIG">,
  path: string,
  field: string | null,
  problem: string,
): HoldfastError {
  return new HoldfastError("E_CONFIG", field === null ? `${path} ${problem}` : `${path}: ${field} ${problem}`, {
    reason,
    details: { path, ...(field === null ? {} : { field }) },
    next: [`Correct ${path}, then look at it with \`holdfast config show\`.`],
  });
}
