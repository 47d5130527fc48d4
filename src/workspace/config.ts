/** `holdfast.config.json` beside `.holdfast/`: read whole, checked field by field, and a field nobody knows is refused. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type JobSettings, parseJobSettings } from "../jobs/settings.js";
import type { Duration } from "../lease/duration.js";
import { parseOwner } from "../lease/options.js";
import type { Profile } from "../lock/grant.js";
import { checkSettings } from "../lock/settings.js";
import type { Deployment } from "../policy/decide.js";
import { checkPolicy, type Policy } from "../policy/rule.js";
import { HoldfastError, ioError } from "../support/errors.js";
import { withoutByteOrderMark } from "../support/without-byte-order-mark.js";

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
  /** Rules of the workspace's own, beside the shipped ones. */
  readonly policy?: Policy;
  readonly deployment?: Deployment;
  /** Caps of jobs, and how long they are kept; `holdfast init` and each `worker` that starts write them into the store. */
  readonly jobs?: JobSettings;
  /** Whether shared worktrees may be restored in place. */
  readonly sharedInPlace?: boolean;
}

type Check = (value: unknown) => string | null;

const isText: Check = (value) => (typeof value === "string" && value !== "" ? null : "is to be text");
const isDuration: Check = (value) =>
  typeof value === "number" || (typeof value === "string" && /^\d+(\.\d+)?(ms|s|m|h)$/.test(value))
    ? null
    : "is to be a duration such as 500ms, 30s, 15m, 2h";

/** One row a field: what is wrong with a value, or null. A new field of the file needs a row here and in `Config`. */
const FIELDS: Readonly<Record<keyof Config, Check>> = {
  store: isText,
  owner: (value) => asChecked(() => parseOwner(value as string)),
  ttl: isDuration,
  wait: isDuration,
  heartbeat: isDuration,
  maxStall: isDuration,
  grace: isDuration,
  order: (value) => (value === "free" || value === "strict" ? null : "is to be free or strict"),
  levels: (value) => asChecked(() => checkSettings({ levels: value as readonly string[] })),
  profiles: (value) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? asChecked(() => checkSettings({ profiles: value as Readonly<Record<string, Profile>> }))
      : "is to be an object: a profile for each key prefix",
  policy: (value) => asChecked(() => checkPolicy(value)),
  deployment: (value) =>
    value === "single-node" || value === "multi-node" ? null : "is to be single-node or multi-node",
  jobs: (value) => asChecked(() => parseJobSettings(value)),
  sharedInPlace: (value) => (typeof value === "boolean" ? null : "is to be true or false"),
};

export const CONFIG_FIELDS = Object.keys(FIELDS) as readonly (keyof Config)[];

/** The configuration of a workspace; empty when it has none. `E_CONFIG` naming the field, `E_IO`. */
export function readConfig(root: string): Config {
  const path = join(root, CONFIG_FILE);
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw ioError(error, "read", path);
  }
  return parseConfig(text, path);
}

function parseConfig(text: string, path: string): Config {
  let value: unknown;
  try {
    value = JSON.parse(withoutByteOrderMark(text));
  } catch (cause) {
    throw configError(path, null, `is no JSON: ${(cause as Error).message}`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw configError(path, null, "is to be a JSON object");
  for (const [field, each] of Object.entries(value)) {
    const check = Object.hasOwn(FIELDS, field) ? FIELDS[field as keyof Config] : undefined;
    if (check === undefined && field !== "$schema")
      throw configError(path, field, `is no field; the fields are ${CONFIG_FIELDS.join(", ")}`);
    const problem = check?.(each) ?? null;
    if (problem !== null) throw configError(path, field, problem);
  }
  return value as Config;
}

function asChecked(check: () => unknown): string | null {
  try {
    check();
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

function configError(path: string, field: string | null, problem: string): HoldfastError {
  return new HoldfastError("E_CONFIG", field === null ? `${path} ${problem}` : `${path}: ${field} ${problem}`, {
    details: { path, ...(field === null ? {} : { field }) },
    next: [`Correct ${path}, then look at it with \`holdfast config show\`.`],
  });
}
