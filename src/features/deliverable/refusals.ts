/** The errors of a folder that cannot be locked, for people and for programs. */

import { HoldfastError } from "../../base/errors.js";
import { contentionReport } from "../../lock/contention.js";
import { type Instant, remainingSeconds } from "../../lock/time.js";
import { lifeOf } from "./liveness.js";
import type { Places } from "./paths.js";
import type { FoundLock } from "./record.js";

const REPORT = "Do not write; report the contention.";

/** `E_LOCK_CONFLICT` with the report of contention. `isOwn`: the token of the lock in the way is kept for whoever asks. */
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

/** `E_LOCK_EXPIRED` */
export function lapsed(folder: string): HoldfastError {
  return new HoldfastError("E_LOCK_EXPIRED", `the lease on ${folder} ended, and it may have changed since`, {
    details: { path: folder },
    next: [`holdfast deliverable lock ${folder}`, "Look at what is there now, then go on."],
  });
}

/** `E_LOCK_NOT_HELD` of a folder that is free. */
export function heldByNobody(folder: string): HoldfastError {
  return new HoldfastError("E_LOCK_NOT_HELD", `${folder} is not locked: nobody holds it`, {
    details: { path: folder },
    next: [`holdfast deliverable status ${folder}`, `holdfast deliverable lock ${folder}`],
  });
}

/** `E_LOCK_NOT_HELD` */
export function notHeld(folder: string, why: string): HoldfastError {
  return new HoldfastError("E_LOCK_NOT_HELD", `${folder} is not locked by this caller: ${why}`, {
    details: { path: folder },
    next: [
      `holdfast deliverable status ${folder}`,
      "Act as the holder who locked it (`--owner`), or show its lease token (`--token`).",
    ],
  });
}

/** `E_IO`: the lock is gone, but what the log still lacks must not go with the rest. */
export function notTold({ log, holdfast }: Places): HoldfastError {
  return new HoldfastError("E_IO", `the folder is unlocked, but ${log} cannot be written, so ${holdfast} stays`, {
    details: { path: log },
    next: ["Make room or give permission, then terminate again."],
  });
}
