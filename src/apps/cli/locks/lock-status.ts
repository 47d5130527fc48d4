/** Shows the status of one lock. Where no store exists yet, every lock is free, and nothing is created. */
import type { LockStatus } from "../../../client/reading/lock-status.js";
import { parseKey } from "../../../lock/key.js";
import { DEFAULT_SETTINGS, profileOf } from "../../../lock/settings.js";
import type { BaseContext, ContextWith, Outcome } from "../command.js";
import { statusText } from "./status-text.js";

export async function lookAtLock(context: ContextWith<unknown, { readonly KEY: string }>): Promise<Outcome> {
  const key = parseKey(context.args.KEY);
  const holdfast = await context.openForReading();
  const status = holdfast === null ? untouched(context, key) : await holdfast.inspect(key);
  // Most locks are not those of a worktree's files: the module is loaded for these alone.
  const isOfWorktree = status.grants.some(({ resource }) => resource.includes("@"));
  const notes = isOfWorktree ? (await import("./gone-worktrees.js")).goneWorktreeNotes(context, status.grants) : [];
  return { data: status, text: (screen) => statusText(status, screen), notes };
}

function untouched(context: BaseContext, resource: string): LockStatus {
  const { profiles = DEFAULT_SETTINGS.profiles } = context.settings().config;
  const profile = profileOf(resource, { ...DEFAULT_SETTINGS, profiles });
  return { resource, state: "free", grants: [], waiters: [], fencing_token: 0, profile, permits: null };
}
