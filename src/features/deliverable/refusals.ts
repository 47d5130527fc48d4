/** The errors of a folder that cannot be locked, for people and for programs. */

import { HoldfastError } from "../../base/errors.js";
import type { Places } from "../../client/deliverable/paths.js";

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
