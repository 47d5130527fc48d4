/** The errors of a folder that cannot be locked, for people and for programs. */

import { sep } from "node:path";
import { HoldfastError, isHoldfastError } from "../../base/errors.js";
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

const NOT_PERMITTED: ReadonlySet<unknown> = new Set(["EACCES", "EPERM", "EROFS"]);

/**
 * `E_IO` for a store that this user cannot write; null for any other error. The file alone would be no lock: a holder of a
 * key above the folder's, and one of `deliverable:ID`, is granted it by the store and looks for no file.
 */
export function storeNotWritable(error: unknown, folder: string): HoldfastError | null {
  if (!isHoldfastError(error, "E_IO")) return null;
  if (!NOT_PERMITTED.has((error.cause as NodeJS.ErrnoException | undefined)?.code)) return null;
  // A file in the folder itself is not of that store.
  if (String(error.details.path).startsWith(folder + sep)) return null;
  return new HoldfastError(
    "E_IO",
    `the lock of ${folder} is also in the store of its workspace, which this user cannot write: ${error.message}`,
    {
      cause: error,
      details: { ...error.details, folder },
      next: [
        ...error.next,
        "Or lock it as a user who may write that store: others do not see a lock that is not in it.",
      ],
    },
  );
}

/** `E_IO`: the lock is gone, but what the log still lacks must not go with the rest. */
export function notTold({ log, holdfast }: Places): HoldfastError {
  return new HoldfastError("E_IO", `the folder is unlocked, but ${log} cannot be written, so ${holdfast} stays`, {
    details: { path: log },
    next: ["Make room or give permission, then terminate again."],
  });
}
