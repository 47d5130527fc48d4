/** Parses how long ended jobs are kept, by how they ended. */
import { type Duration, parseDuration } from "../../base/duration.js";
import { invalidArgument } from "../../base/errors.js";

export const END_STATES = ["done", "failed", "cancelled"] as const;
export type EndState = (typeof END_STATES)[number];

/** Null keeps them for good; what is left out stays as it is. */
export type Keep = Readonly<Partial<Record<EndState, Duration | null>>>;

const LIMITS = { atLeastMs: 0, atMostMs: 100 * 365 * 24 * 3_600_000 };

/** In milliseconds. `E_INVALID_ARGUMENT` naming the field. */
export function parseKeep(keep: unknown): Partial<Record<EndState, number | null>> {
  if (typeof keep !== "object" || keep === null || Array.isArray(keep)) throw invalidArgument("keep", "an object");
  const parsed: Partial<Record<EndState, number | null>> = {};
  for (const [name, value] of Object.entries(keep)) {
    const state = END_STATES.find((each) => each === name);
    if (state === undefined) throw invalidArgument(name, `is none of ${END_STATES.join(", ")}`);
    parsed[state] = value === null ? null : parseDuration(value as Duration, name, LIMITS);
  }
  return parsed;
}
