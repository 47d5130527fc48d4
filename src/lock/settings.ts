/**
 * The settings that all users of a store must agree on: the order of levels and the recovery profile of each resource.
 * The first client records them in the store; a caller that states something else gets `E_CONFIG`, one that states
 * nothing adopts the recorded ones.
 */
import { HoldfastError, invalidArgument } from "../base/errors.js";
import { PROFILES, type Profile } from "./grant.js";
import { DEFAULT_LEVELS } from "./order.js";
import { RESERVED_KINDS } from "./reserved-kinds.js";

export interface Settings {
  readonly levels: readonly string[];
  /** Recovery profile by key prefix; the longest prefix that fits decides. */
  readonly profiles: Readonly<Record<string, Profile>>;
}

export const DEFAULT_SETTINGS: Settings = {
  levels: DEFAULT_LEVELS,
  profiles: { "project:": "dal", ...reservedProfiles() },
};

/** Returns the profiles of the table that differ from `default`, by prefix. */
function reservedProfiles(): Readonly<Record<string, Profile>> {
  const rows = Object.entries(RESERVED_KINDS).filter(([, { profile }]) => profile !== "default");
  return Object.fromEntries(rows.map(([prefix, { profile }]) => [prefix, profile]));
}

const LEVEL = /^[A-Za-z0-9._-]+$/;

export function checkSettings(settings: Partial<Settings>): void {
  const { levels, profiles } = settings;
  if (levels !== undefined) {
    if (!Array.isArray(levels) || levels.some((level) => typeof level !== "string" || !LEVEL.test(level)))
      throw invalidArgument("levels", "a list of kinds such as project, map, sketch");
    if (new Set(levels).size !== levels.length) throw invalidArgument("levels", "the same kind twice");
  }
  if (profiles !== undefined && (typeof profiles !== "object" || profiles === null || Array.isArray(profiles)))
    throw invalidArgument("profiles", 'an object such as { "issue:": "lease" }');
  for (const [prefix, profile] of Object.entries(profiles ?? {})) {
    if (prefix === "") throw invalidArgument("profiles", "a prefix is not empty");
    if (!PROFILES.includes(profile))
      throw invalidArgument(
        "profiles",
        `${prefix} is to be ${String(profile)}; the profiles are ${PROFILES.join(", ")}`,
      );
  }
}

/** Throws `E_CONFIG` when what the caller states is not what the store has recorded. */
export function assertAgree(recorded: Settings, stated: Partial<Settings>): void {
  if (stated.levels !== undefined && stated.levels.join() !== recorded.levels.join())
    throw disagreement("levels", recorded.levels, stated.levels);
  if (stated.profiles !== undefined && canonical(stated.profiles) !== canonical(recorded.profiles))
    throw disagreement("profiles", recorded.profiles, stated.profiles);
}

function canonical(profiles: Settings["profiles"]): string {
  return JSON.stringify(Object.entries(profiles).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function disagreement(field: keyof Settings, recorded: unknown, stated: unknown): HoldfastError {
  return new HoldfastError(
    "E_CONFIG",
    `${field}: the store has ${JSON.stringify(recorded)} on record, this caller states ${JSON.stringify(stated)}`,
    {
      reason: "settings_differ",
      details: { field, recorded, stated },
      next: [`Leave out ${field} to use what is recorded.`],
    },
  );
}

export function profileOf(key: string, { profiles }: Settings): Profile {
  let best = "";
  for (const prefix in profiles) if (key.startsWith(prefix) && prefix.length > best.length) best = prefix;
  return profiles[best] ?? "default";
}
