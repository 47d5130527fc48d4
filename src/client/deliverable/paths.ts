/**
 * The paths of a deliverable folder. Holdfast writes nothing outside of it, and inside of it only these:
 *
 *   _LOCK.json                            there: locked. Not there: free
 *   _LOCK.log.jsonl                       who locked, unlocked, recovered; a line each
 *   .holdfast/deliverable/guard           kernel-locked during every step
 *   .holdfast/deliverable/state.json      the fence, and the step under way
 *   .holdfast/deliverable/lock.new        the next _LOCK.json while it is written
 *   .holdfast/deliverable/alive/<nonce>   proof of life of the process that holds the lock
 *   .holdfast/deliverable/token-<id>      lease token of a lock that outlives its command; for its user only
 */
import { statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { HoldfastError } from "../../base/errors.js";
import { HOME } from "../../base/home-folder.js";
import { realTextPath } from "../../files/real-path.js";
import { accessError } from "./access-error.js";

export interface Places {
  readonly folder: string;
  readonly name: string;
  readonly lock: string;
  readonly log: string;
  readonly holdfast: string;
  readonly own: string;
  readonly guard: string;
  readonly state: string;
  readonly fresh: string;
  readonly alive: string;
}

export const LOCK_FILE = "_LOCK.json";
const LOG_FILE = "_LOCK.log.jsonl";

export function placesIn(path: string): Places {
  const folder = resolve(path);
  const holdfast = join(folder, HOME);
  const own = join(holdfast, "deliverable");
  return {
    folder,
    name: basename(realTextPath(folder)),
    lock: join(folder, LOCK_FILE),
    log: join(folder, LOG_FILE),
    holdfast,
    own,
    guard: join(own, "guard"),
    state: join(own, "state.json"),
    fresh: join(own, "lock.new"),
    alive: join(own, "alive"),
  };
}

/**
 * Tells the folder from its copies: a copy is another directory, a folder that was renamed is the same. The device is
 * left out, for some systems number devices anew at every start. `E_NOT_FOUND`, `E_INVALID_ARGUMENT`
 */
export function identityOf({ folder }: Places): string {
  const found = lookAt(folder);
  if (found === undefined)
    throw new HoldfastError("E_NOT_FOUND", `there is no folder ${folder}`, { details: { path: folder } });
  if (!found.isDirectory())
    throw new HoldfastError("E_INVALID_ARGUMENT", `folder: ${folder} is no folder`, {
      details: { field: "folder", path: folder },
    });
  return `${found.ino}:${found.birthtimeNs}`;
}

function lookAt(folder: string) {
  try {
    return statSync(folder, { throwIfNoEntry: false, bigint: true });
  } catch (error) {
    throw accessError(error, "look at", folder);
  }
}
