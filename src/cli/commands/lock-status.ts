/** `holdfast lock status KEY`. Where there is no store yet, everything is free, and nothing is made. */
import type { LockStatus } from "../../lease/lock-status.js";
import { parseKey } from "../../lock/key.js";
import { DEFAULT_SETTINGS, profileOf } from "../../lock/settings.js";
import type { Context, Outcome } from "../context.js";
import { statusText } from "../status-text.js";

export async function run(context: Context): Promise<Outcome> {
  const key = parseKey(context.arg("KEY"));
  const holdfast = await context.openForReading();
  const status = holdfast === null ? untouched(context, key) : await holdfast.inspect(key);
  return { data: status, text: (screen) => statusText(status, screen) };
}

function untouched(context: Context, resource: string): LockStatus {
  const { profiles = DEFAULT_SETTINGS.profiles } = context.workspace().config;
  const profile = profileOf(resource, { ...DEFAULT_SETTINGS, profiles });
  return { resource, state: "free", grants: [], waiters: [], fencing_token: 0, profile, permits: null };
}
