/**
 * Settles the files of an unfinished publish. The disk decides, never a guess: the staged folder is known by its identity.
 * If it stands at the target, the rename was made under the guard and is rolled forward; if not, nothing was visible and
 * the publish is undone. A manifest without a seal never came as far as a rename.
 *
 *   on the disk                          action                                 a crash in the meantime leaves
 *   not sealed, or stage at `tmpPath`    aborted                                the same to do
 *   target absent, old tree aside        the old tree is put back, aborted      the same, or the line above
 *   stage at the target                  both parents synced, committed         the same to do
 *
 * Runs under the guard that the rename needs too. It is quick: two checks, at most two renames and two syncs. The files at
 * `tmpPath` are removed later, outside the guard.
 */
import { renameSync } from "node:fs";
import { dirname } from "node:path";
import { HoldfastError, ioError } from "../../base/errors.js";
import { syncFolder } from "../../files/durable-file.js";
import type { Manifest } from "../../lock/manifest.js";
import { cradleOf, leftoversOf, lookAt, placeAt, putBack } from "../../platform/exchange.js";

export interface FoundOnDisk {
  /** Its tree stands at the target, on the disk. */
  readonly isMade: boolean;
  /** Nothing of it lies about. */
  readonly isCleared: boolean;
}

/**
 * With `takesStage` a sealed stage is moved out of the way first. Whoever has lost the server's protection and does not
 * know it yet then finds nothing to rename; the system decides which of the two renames comes first.
 * `E_COMMIT_UNCERTAIN` when a rename that was made cannot be synced: it stays to be settled.
 */
export function settleOnDisk(manifest: Manifest, { takesStage = false } = {}): FoundOnDisk {
  const { tmpPath, target, sealed } = manifest;
  if (takesStage && sealed !== null && !isMade(manifest)) takeStage(tmpPath);
  const made = isMade(manifest);
  if (made) syncParents(manifest);
  else
    try {
      putBack(tmpPath, target);
    } catch (error) {
      throw ioError(error, "put back", target);
    }
  return { isMade: made, isCleared: leftoversOf(tmpPath).every((path) => placeAt(path) === "absent") };
}

/** Whether the rename was made, though the manifest does not say so. */
export function isMade({ sealed, tmpPath, target }: Manifest): boolean {
  try {
    // mutant: publish-roll-forward: , target, sealed) === "made"; → , target, sealed) !== "made" && false;
    return sealed !== null && lookAt(tmpPath, target, sealed) === "made";
  } catch (error) {
    throw ioError(error, "look at", target);
  }
}

function takeStage(stage: string): void {
  try {
    renameSync(stage, cradleOf(stage));
  } catch (error) {
    // Gone, or made in this instant.
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw ioError(error, "take away", stage);
  }
}

function syncParents({ tmpPath, target }: Manifest): void {
  try {
    if (placeAt(dirname(tmpPath)) === "folder") syncFolder(dirname(tmpPath));
    syncFolder(dirname(target));
  } catch (cause) {
    throw new HoldfastError("E_COMMIT_UNCERTAIN", `${target} was published, but cannot be synced to the disk`, {
      cause,
      details: { path: target },
    });
  }
}
