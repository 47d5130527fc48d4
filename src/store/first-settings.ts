/** Completes the settings that the first client of a store records. */
import { DEFAULT_SETTINGS, type Settings } from "../lock/settings.js";

/** What the first client of a store records: what it states, and defaults for what it leaves open. */
export function firstSettings(stated: Partial<Settings>): Settings {
  return { ...DEFAULT_SETTINGS, ...stated };
}
