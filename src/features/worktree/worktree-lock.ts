/**
 * Acquires or checks the lock under which a worktree may change. An exclusive worktree changes under `worktree:NAME`:
 * held by the caller, who presents the lease, or by the verb itself, which acquires the lock when it is free and
 * releases it. Work that replaces the files of the payload holds their key as well. A shared one needs no lock for a snapshot; only the moment of publishing is serialised, by
 * `snapshot:NAME`.
 */

import type { Duration } from "../../base/duration.js";
import { HoldfastError } from "../../base/errors.js";
import type { Holdfast } from "../../client/holdfast.js";
import { type GrantRef, kernelOf } from "../../client/kernel.js";
import type { BorrowedLease } from "../../client/lease/borrowed-lease.js";
import type { Lease } from "../../client/lease/lease.js";
import { releasedAfter } from "../../client/lease/released-after.js";
import { SNAPSHOT } from "../../lock/reserved-kinds.js";
import { restoreKey, worktreeKey } from "./layout.js";
import type { WorktreeRecord } from "./registry.js";
import type { Committer } from "./snapshot/take-snapshot.js";

/** How a caller shows that it may write. */
export interface Presenting {
  /** A write lease on `worktree:NAME` in this process. */
  readonly lease?: Lease;
  /** Or the lease token of one taken elsewhere. */
  readonly token?: string;
  /** How long to wait for the lock when none is shown. Default: not at all. */
  readonly wait?: Duration;
}

export interface Right extends Committer {
  /** The lease tokens of what is held. */
  readonly tokens: readonly string[];
}

const PUBLISH_WAIT = "60s";

/** `E_LOCK_CONFLICT` when somebody else holds it, `E_LOCK_NOT_HELD` when what is shown does not. */
export async function withRight<T>(
  holdfast: Holdfast,
  { worktree_id: name }: Pick<WorktreeRecord, "worktree_id">,
  { lease, token, wait = 0 }: Presenting,
  work: (right: Right) => Promise<T>,
): Promise<T> {
  const key = worktreeKey(name);
  if (lease !== undefined) {
    if (!lease.keys.includes(key)) throw notThis(key, lease.keys);
    await lease.verify();
    return work(rightOf(holdfast, key, lease, lease.token));
  }
  if (token !== undefined) {
    const borrowed = await holdfast.borrow(key, token);
    await borrowed.verify();
    return work(rightOf(holdfast, key, borrowed, token));
  }
  const own = await kernelOf(holdfast).acquireAlone(key, { wait });
  return releasedAfter(own, () => work(rightOf(holdfast, key, own, own.token)));
}

/**
 * The same for work that replaces the files of the payload: they are held, too, where they lie in the workspace. With what
 * the caller shows they are requested without waiting: `E_LOCK_CONFLICT`.
 */
export async function withPayload<T>(
  holdfast: Holdfast,
  worktree: Pick<WorktreeRecord, "worktree_id"> & { readonly payload: string },
  presenting: Presenting,
  work: (right: Right) => Promise<T>,
): Promise<T> {
  const { lease, token, wait = 0 } = presenting;
  if (lease === undefined && token === undefined) {
    const own = await holdfast.acquire(worktreeKey(worktree.worktree_id), { wait });
    return releasedAfter(own, () => withRight(holdfast, worktree, { lease: own }, work));
  }
  const path = kernelOf(holdfast).pathKeyOf(worktree.payload);
  return withRight(holdfast, worktree, presenting, async (right) => {
    if (path === null) return work(right);
    const files = await holdfast.acquire(path, { wait: 0, presenting: right.tokens });
    return releasedAfter(files, () => work({ ...right, tokens: [...right.tokens, files.token] }));
  });
}

/** Publishing from a shared worktree. */
export function sharedCommitter(
  holdfast: Holdfast,
  { worktree_id: name }: Pick<WorktreeRecord, "worktree_id">,
): Committer {
  const key = SNAPSHOT + name;
  return {
    fencingToken: null,
    commit: (write, event, details) =>
      holdfast.withLock(key, { wait: PUBLISH_WAIT }, (lease) => commitTold(lease, write, event, details)),
    hasTold: (id) => hasTold(holdfast, key, id),
  };
}

const FAR_BACK = 50_000;

async function hasTold({ audit }: Holdfast, resource: string, snapshotId: string): Promise<boolean> {
  const entries = await audit.recent({ resource, event: "snapshot", limit: FAR_BACK });
  return entries.some(({ details }) => details.snapshot_id === snapshotId);
}

/** Whether the restore in place of this id is on record, on the worktree's key or below it. */
export async function hasToldRestore({ audit }: Holdfast, name: string, restoreId: string): Promise<boolean> {
  for (const resource of [worktreeKey(name), restoreKey(name)]) {
    const entries = await audit.recent({ resource, event: "restore", limit: FAR_BACK });
    if (entries.some(({ details }) => details.restore_id === restoreId)) return true;
  }
  return false;
}

/** A step under the guard of this lease, with an entry in the audit chain by the same step when an event is named. */
export function commitTold<T>(
  lease: Lease | BorrowedLease,
  write: () => T,
  event: "snapshot" | "restore" | null,
  details: Record<string, unknown>,
  refs: readonly GrantRef[] = lease.refs,
): Promise<T> {
  const note = event === null ? undefined : { event, details };
  return lease.through(() => kernelOf(lease).commit(refs, write, note));
}

function rightOf(holdfast: Holdfast, key: string, lease: Lease | BorrowedLease, token: string): Right {
  const own = (): readonly GrantRef[] => lease.refs.filter(({ resource }) => resource === key);
  return {
    fencingToken: lease.fencingTokens[lease.keys.indexOf(key)] ?? null,
    tokens: [token],
    commit: (write, event, details) => commitTold(lease, write, event, details, own()),
    hasTold: (id) => hasTold(holdfast, key, id),
  };
}

function notThis(key: string, keys: readonly string[]): HoldfastError {
  return new HoldfastError("E_LOCK_NOT_HELD", `the lease that was shown is on ${keys.join(", ")}, not on ${key}`, {
    details: { resource: key },
  });
}
