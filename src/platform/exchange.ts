/**
 * Exchanges two folders in one step. `exchange` makes two names swap what they name (RENAME_EXCHANGE on Linux,
 * renamex_np on macOS): both are valid at every instant. Where the system has no such call the old folder is moved
 * aside first, and there is an instant without it; what a crash leaves then is put back by `lookAt` and `putBack`.
 *
 * A rename of a folder onto an empty one replaces it silently, so a caller must not rely on a rename to fail: it checks the
 * target first, under a guard that keeps out every other process that may make the target.
 */
import { lstatSync, renameSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import native from "fs-native-extensions";

/** What a system, or a file system, says that cannot exchange. */
const CANNOT: ReadonlySet<string> = new Set(["ENOSYS", "EINVAL", "ENOTSUP", "EOPNOTSUPP", "ENOTSUPP"]);

export type Place = "absent" | "folder" | "other";

/** What a path names, links not followed. */
export function placeAt(path: string): Place {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found === undefined ? "absent" : found.isDirectory() ? "folder" : "other";
}

/** Inode and time of birth: an inode alone is given to the next folder as soon as this one is gone. Null: no folder. */
export function identityAt(path: string): string | null {
  const found = lstatSync(path, { throwIfNoEntry: false, bigint: true });
  return found?.isDirectory() ? `${found.ino}:${found.birthtimeNs}` : null;
}

function asideOf(stage: string): string {
  return `${stage}.old`;
}

/** Where a stage is made, before it is renamed to where it is filled. */
export function cradleOf(stage: string): string {
  return join(dirname(dirname(stage)), `.holdfast-${basename(stage)}`);
}

/** Every place where a publish can have left something. */
export function leftoversOf(stage: string): readonly string[] {
  return [stage, asideOf(stage), cradleOf(stage)];
}

/** Puts the staged folder into an existing one's place. Returns where the old one is afterwards: `stage`, or beside it. */
export function exchange(stage: string, target: string): string {
  try {
    native.swapSync(stage, target);
    return stage;
  } catch (error) {
    if (!CANNOT.has((error as NodeJS.ErrnoException).code ?? "")) throw error;
    renameSync(target, asideOf(stage));
    try {
      renameSync(stage, target);
    } catch (failed) {
      renameSync(asideOf(stage), target);
      throw failed;
    }
    return asideOf(stage);
  }
}

/** Which of the two states a publish that nobody finished is in. */
export function lookAt(stage: string, target: string, identity: string): "made" | "not made" {
  return identityAt(target) === identity && identityAt(stage) !== identity ? "made" : "not made";
}

/** Undoes half of an exchange by two renames. */
export function putBack(stage: string, target: string): void {
  if (placeAt(target) === "absent" && placeAt(asideOf(stage)) === "folder") renameSync(asideOf(stage), target);
}
