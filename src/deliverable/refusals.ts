/** Why a folder cannot be had, for people and for programs. */
import { contentionReport } from "../lock/contention.js";
import { type Instant, remainingSeconds } from "../lock/time.js";
import { HoldfastError } from "../support/errors.js";
import { lifeOf } from "./life.js";
import type { Places } from "./places.js";
import type { FoundLock } from "./record.js";

/** `E_LOCK_CONFLICT` with the report of contention. */
export function inTheWay(places: Places, { record, grant, isCopy }: FoundLock, now: Instant): HoldfastError {
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
    : [`holdfast deliverable status ${places.folder}`, "Do not write; report the contention."];
  return new HoldfastError(
    "E_LOCK_CONFLICT",
    `${places.folder} is locked by ${record.holder} (${who}) since ${record.acquired}, for another ${seconds} s at most`,
    {
      details: { contention, life: lifeOf(places, grant), copied: isCopy },
      next,
    },
  );
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
