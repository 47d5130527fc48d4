/** Finds the grant of a lease that covers a resource, and so permits its holder to read or write there. */
import { kernelOf } from "../../client/kernel.js";
import type { Lease } from "../../client/lease/lease.js";
import { notHeld } from "../../client/lease/loss.js";
import type { Grant } from "../../lock/grant.js";
import { isWithin, type Key } from "../../lock/key.js";

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
  await lease.through(() => kernelOf(lease).verify(grant.resource, grant.fencingToken), "read");
  return grant;
}

/**
 * The highest number that whoever holds this upgradeable grant may leave without overtaking itself: nobody else has write
 * below it, but a lease of its own may, from before and so with a lower number.
 */
export async function tokenToLeave(lease: Lease, { resource, fencingToken }: Grant): Promise<number> {
  let lowest = fencingToken;
  for await (const page of kernelOf(lease).pages(resource))
    for (const below of page)
      if (below.mode === "write" && below.permits === null) lowest = Math.min(lowest, below.fencingToken);
  return lowest;
}
