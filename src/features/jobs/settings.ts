/** Parses the section `jobs` of a workspace's configuration: caps by their names, and `keep`. */
import { invalidArgument } from "../../base/errors.js";
import { type Caps, parseCaps } from "./cap-names.js";
import { type Keep, parseKeep } from "./retention.js";

export interface JobSettings extends Caps {
  readonly keep?: Keep;
}

/** `E_INVALID_ARGUMENT` naming the field. */
export function parseJobSettings(value: unknown): { readonly caps: Caps; readonly keep: Keep } {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw invalidArgument("jobs", "an object");
  const { keep = {}, ...caps } = value as JobSettings;
  return { caps: parseCaps(caps), keep: parseKeep(keep) };
}
