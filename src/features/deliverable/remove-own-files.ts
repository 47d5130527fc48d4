/**
 * Removes the files that Holdfast keeps in a deliverable folder, at the end of the deliverable. The log stays: its last
 * line has the last fencing token, so that numbers continue behind it should the folder be locked again.
 *
 * Called under the guard, when `_LOCK.json` is gone and the log has its line. The guard's file goes last: while it is there,
 * no other process is inside. A crash on the way leaves a free folder with some of its files; it can be terminated again,
 * or locked, as before.
 */
import { readdirSync, rmdirSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { accessError } from "../../client/deliverable/access-error.js";
import type { Places } from "../../client/deliverable/paths.js";
import { removeFile } from "../../files/durable-file.js";

export function removeOwnFiles(places: Places): void {
  const { own, alive, guard, holdfast } = places;
  try {
    for (const name of namesIn(alive)) removeFile(join(alive, name));
    removeEmpty(alive);
    for (const name of namesIn(own)) if (name !== "guard" && name !== "alive") removeFile(join(own, name));
    unlinkSync(guard);
  } catch (error) {
    throw accessError(error, "remove", own);
  }
  // Somebody may come in from here on. What is not empty is in use, by them or by a workspace.
  removeEmpty(own);
  removeEmpty(holdfast);
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // It holds something, or is gone.
  }
}
