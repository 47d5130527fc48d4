/** The refusals that a lock in a folder gives to a requester of the folder, or of a file in it. */

import { HoldfastError } from "../../base/errors.js";
import { contentionReport } from "../../lock/contention.js";
import { type Instant, remainingSeconds } from "../../lock/time.js";
import { lifeOf } from "./liveness.js";
import type { Places } from "./paths.js";
import type { FoundLock } from "./record.js";

const REPORT = "Do not write; report the contention.";

/** `E_LOCK_CONFLICT` with the report of contention. `isOwn`: the token of the lock in the way is kept for the requester. */
export function inTheWay(
  places: Places,
  { record, grant, isCopy }: FoundLock,
  now: Instant,
  isOwn = false,
): HoldfastError {
  const seconds = remainingSeconds(grant.renewedAt, grant.leaseMs, now);
  const contention = {
    ...contentionReport(grant.resource, [grant], [], now),
    deliverable_id: record.deliverable_id,
    holder: record.holder,
  };
  const who = record.pid === null ? "bound to no process" : `process ${record.pid} on ${record.host}`;
  const recover = `holdfast deliverable recover ${places.folder}`;
  const next = isCopy
    ? [recover]
    : [`holdfast deliverable status ${places.folder}`, ...(isOwn ? ownSteps(places) : [REPORT])];
  return new HoldfastError(
    "E_LOCK_CONFLICT",
    `${places.folder} is locked by ${record.holder} (${who}) since ${record.acquired}, for another ${seconds} s at most`,
    {
      details: { contention, life: lifeOf(places, grant), copied: isCopy },
      next,
    },
  );
}

/** Another process of the same name may have locked it, so it is not simply given again. */
function ownSteps({ folder }: Places): readonly string[] {
  const first = "It was locked under your own name. If you did, it is yours already:";
  return [first, `holdfast deliverable renew ${folder}`, "If not, do not write; report the contention."];
}

/** `E_STORE_CORRUPT`: only `recover` ends such a lock. */
export function corrupt({ lock, folder }: Places, why: string): HoldfastError {
  return new HoldfastError("E_STORE_CORRUPT", `${lock} is not readable (${why}): it counts as locked`, {
    details: { path: lock, why },
    next: ["Make sure that nobody works in the folder, then:", `holdfast deliverable recover ${folder}`],
  });
}
