/** The one moment: the stage gets the target's name. Runs under the guard, after lease and fence were checked. */
import { closeSync, fsyncSync, openSync, renameSync } from "node:fs";
import { ioError } from "../support/errors.js";
import { exchange } from "../support/exchange.js";
import { asCrossDevice, assertFolder, type Target } from "./target.js";

/**
 * Returns where the tree is that was replaced, if there was one. `onRenamed` is called as soon as others can see the new one:
 * what fails after that is not known to have failed. The folders are opened before, so that only the syncs themselves can.
 */
export function putIntoPlace(
  { path, parent, tmp, stage }: Target,
  check: (() => void) | undefined,
  onRenamed: () => void,
): string | null {
  const folders: number[] = [];
  try {
    for (const folder of [tmp, parent]) folders.push(openSync(folder, "r"));
    check?.();
    const isNew = assertFolder(path) === "absent";
    let replaced: string | null = null;
    if (isNew) renameSync(stage, path);
    else replaced = exchange(stage, path);
    onRenamed();
    for (const fd of folders) fsyncSync(fd);
    return replaced;
  } catch (error) {
    throw asCrossDevice(error, path) ?? ioError(error, "publish", path);
  } finally {
    for (const fd of folders) closeSync(fd);
  }
}
