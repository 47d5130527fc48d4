/**
 * Which steps must survive a power cut before they are acknowledged, decided once for all ledgers.
 *
 * A detached grant outlives its process and the machine, so a step that makes, changes or ends one is on the disk before
 * its caller hears of it. Otherwise a power cut could take away a grant that was acknowledged, or bring back one that was
 * ended: `resume` would find it, although another holder has been there. It does not matter what takes the place of the
 * ended grant. Grants of processes are over after a restart, so a step that concerns only these need not be on the disk.
 *
 * A crash before the commit leaves the grant as it was, and one after the commit leaves it ended: the commit is durable.
 */
import type { Grant } from "../lock/grant.js";
import type { Changes } from "./ledger.js";

/** Returns whether the changes must survive a power cut: as an operation says, and always where a detached grant changes. */
export function durabilityOf({ durable = false, adds, updates, drops }: Changes): boolean | "soon" {
  // mutant: durable-begins: hasDetached(adds) || → hasDetached(undefined) ||
  // mutant: durable-renews: hasDetached(updates) || → hasDetached(undefined) ||
  // mutant: durable-ends: || hasDetached(drops) ? → || hasDetached(undefined) ?
  return hasDetached(adds) || hasDetached(updates) || hasDetached(drops) ? true : durable;
}

function hasDetached(grants: readonly Grant[] | undefined): boolean {
  return grants?.some(({ detached }) => detached) ?? false;
}
