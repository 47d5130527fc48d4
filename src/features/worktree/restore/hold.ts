/**
 * The lock that keeps all others out of a worktree until a restore in place is settled: `worktree:NAME/restore`, a
 * detached grant below the caller's own. After a crash the process that settles the restore resumes the lock by the
 * token in the journal's folder.
 */

import { isHoldfastError } from "../../../base/errors.js";
import type { Holdfast } from "../../../client/holdfast.js";
import { restoreKey, worktreeKey } from "../layout.js";
import { commitTold } from "../worktree-lock.js";
import type { JournalFolder } from "./journal.js";

export interface Hold {
  /** A step under the guard; told when an event is named. */
  commit<T>(write: () => T, event: "restore" | null, details: Record<string, unknown>): Promise<T>;
  release(): Promise<void>;
}

const TTL = "24h";

export async function takeHold(holdfast: Holdfast, name: string, token: string, files: JournalFolder): Promise<Hold> {
  const lease = await holdfast.acquire(restoreKey(name), {
    detached: true,
    ttl: TTL,
    wait: 0,
    presenting: [token],
    keepToken: (own) => files.keepHold(own),
    metadata: { why: "a restore in place is under way", finish_with: `holdfast restore --resume ${name}` },
  });
  return {
    commit: (write, event, details) => commitTold(lease, write, event, details),
    release: () => lease.release(),
  };
}

/** The one that a crash left; when it is gone and there is work to do, the worktree's own lock, or `E_LOCK_CONFLICT`. */
export async function openHold(
  holdfast: Holdfast,
  name: string,
  files: JournalFolder,
  isNeeded: boolean,
): Promise<Hold | null> {
  const token = files.hold();
  if (token !== null) {
    try {
      const borrowed = await holdfast.borrow(restoreKey(name), token);
      await borrowed.verify();
      const own = await holdfast.reattach(restoreKey(name), token);
      return {
        commit: (write, event, details) => commitTold(borrowed, write, event, details),
        release: () => own.release(),
      };
    } catch (error) {
      if (!isHoldfastError(error, "E_LOCK_NOT_HELD") && !isHoldfastError(error, "E_LOCK_EXPIRED")) throw error;
    }
  }
  if (!isNeeded) return null;
  const lease = await holdfast.acquire(worktreeKey(name), { wait: 0 });
  return {
    commit: (write, event, details) => commitTold(lease, write, event, details),
    release: () => lease.release(),
  };
}
