/** Which grant of a lease lets its holder at a resource. */

import type { ListPage } from "../lease/kernel.js";
import type { Lease } from "../lease/lease.js";
import { notHeld } from "../lease/loss.js";
import type { Grant } from "../lock/grant.js";
import { isWithin, type Key } from "../lock/key.js";

const PAGE = 1_000;

/**
 * The grant of this lease that covers the resource, checked with the store. `E_LOCK_NOT_HELD` when none does, or none that
 * may write; that says nothing against the lease, which stays as it is.
 */
export async function coveringGrant(lease: Lease, resource: Key, mode: "read" | "write"): Promise<Grant> {
  lease.signal.throwIfAborted();
  const covers = lease.held.filter((grant) => isWithin(resource, grant.resource) && grant.permits === null);
  const grant = covers.find((each) => mode === "read" || each.mode === "write");
  if (grant === undefined)
    throw notHeld(`this lease on ${lease.keys.join(", ")} lets nobody ${mode} ${resource}`, { resource, mode });
  await lease.through(() => lease.seat.store.fence.verify(grant.resource, grant.fencingToken), "read");
  return grant;
}

/**
 * The highest number that whoever holds this upgradeable grant may leave without overtaking itself: nobody else has write
 * below it, but a lease of its own may, from before and so with a lower number.
 */
export async function tokenToLeave({ seat }: Lease, { resource, fencingToken }: Grant): Promise<number> {
  let lowest = fencingToken;
  for (let after: ListPage["after"] = null; ; ) {
    const page = await seat.store.reader.list({ prefix: resource, after, limit: PAGE });
    for (const below of page)
      if (below.mode === "write" && below.permits === null) lowest = Math.min(lowest, below.fencingToken);
    const last = page.at(-1);
    if (page.length < PAGE || last === undefined) return lowest;
    after = { resource: last.resource, lockId: last.lockId };
  }
}
