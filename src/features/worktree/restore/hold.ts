/**
 * The lock that keeps all others out of a worktree until a restore in place is settled: `worktree:NAME/restore`, a
 * detached grant below the caller's own, together with the key of the payload's files. After a crash the process that settles the restore resumes the lock by the
 * token in the journal's folder.
 */

import { isHoldfastError } from "../../../base/errors.js";
import type { Holdfast } from "../../../client/holdfast.js";
import { type GrantRef, kernelOf } from "../../../client/kernel.js";
import { hashLeaseToken } from "../../../lock/lease-token.js";
import { restoreKey, worktreeKey } from "../layout.js";
import { commitTold } from "../worktree-lock.js";
import type { JournalFolder } from "./journal.js";

export interface Hold {
  /** A step under the guard; told when an event is named. */
  commit<T>(write: () => T, event: "restore" | null, details: Record<string, unknown>): Promise<T>;
  release(): Promise<void>;
}

const TTL = "24h";

export interface ToHold {
  readonly name: string;
  readonly payload: string;
  readonly tokens: readonly string[];
}

export async function takeHold(
  holdfast: Holdfast,
  { name, payload, tokens }: ToHold,
  files: JournalFolder,
): Promise<Hold> {
  const path = kernelOf(holdfast).pathKeyOf(payload);
  // mutant: restore-payload-hold: path === null ? [] : [path] → path === null ? [] : []
  const lease = await holdfast.acquire([restoreKey(name), ...(path === null ? [] : [path])], {
    detached: true,
    ttl: TTL,
    wait: 0,
    presenting: tokens,
    keepToken: (own) => files.keepHold(own),
    metadata: { why: "a restore in place is under way", finish_with: `holdfast restore --resume ${name}` },
  });
  return {
    commit: (write, event, details) => commitTold(lease, write, event, details, refsFor(event, lease.refs)),
    release: () => lease.release(),
  };
}

/** An entry belongs to the worktree; a step with one writes no file of the payload. */
function refsFor(event: "restore" | null, refs: readonly GrantRef[]): readonly GrantRef[] {
  return event === null ? refs : refs.slice(0, 1);
}

/** The one that a crash left; when it is gone and there is work to do, the worktree's own lock, or `E_LOCK_CONFLICT`. */
export async function openHold(
  holdfast: Holdfast,
  name: string,
  payload: string,
  files: JournalFolder,
  isNeeded: boolean,
): Promise<Hold | null> {
  const token = files.hold();
  const left = token === null ? null : await leftHold(holdfast, name, payload, token);
  if (left !== null || !isNeeded) return left;
  const lease = await holdfast.acquire(worktreeKey(name), { wait: 0 });
  return {
    commit: (write, event, details) => commitTold(lease, write, event, details, refsFor(event, lease.refs)),
    release: () => lease.release(),
  };
}

/** The key of the payload is acquired again where it was ended by itself. */
async function leftHold(holdfast: Holdfast, name: string, payload: string, token: string): Promise<Hold | null> {
  const path = kernelOf(holdfast).pathKeyOf(payload);
  const held = (await kernelOf(holdfast).findHeld(new Set([hashLeaseToken(token)]))).map(({ resource }) => resource);
  try {
    const keys = [restoreKey(name), ...held.filter((key) => key === path)];
    const borrowed = await holdfast.borrow(keys, token);
    await borrowed.verify();
    const own = await holdfast.reattach(keys, token);
    const again =
      path === null || held.includes(path) ? null : await holdfast.acquire(path, { wait: 0, presenting: [token] });
    const refs = [...borrowed.refs, ...(again?.refs ?? [])];
    return {
      commit: (write, event, details) => commitTold(borrowed, write, event, details, refsFor(event, refs)),
      async release() {
        await again?.release();
        await own.release();
      },
    };
  } catch (error) {
    if (isHoldfastError(error, "E_LOCK_NOT_HELD") || isHoldfastError(error, "E_LOCK_EXPIRED")) return null;
    throw error;
  }
}
