/**
 * Makes the folder `.holdfast/` of a workspace, with a `.gitignore` that keeps git away from it. The folder becomes a
 * workspace when the first opener of its store creates the record. Each step may be repeated after a crash.
 */
import { renameSync } from "node:fs";
import { join } from "node:path";
import { ioError } from "../../base/errors.js";
import { HOME } from "../../base/home-folder.js";
import { placeSynced } from "../../files/durable-file.js";
import { makeHome as makeStoreFolder } from "../../platform/folder-rights.js";
import { isThere } from "../../platform/look-up.js";
import { excludeFromGit } from "./git-exclude.js";

/** Locks are this machine's; the board is meant to be shared. The file ignores itself, so `git stash -u` leaves it there. */
const IGNORED = "/*\n!/board/\n";

export function makeHome(root: string): void {
  const home = join(root, HOME);
  try {
    makeStoreFolder(home);
    const ignore = join(home, ".gitignore");
    if (!isThere(ignore)) placeSynced(ignore, Buffer.from(IGNORED), renameSync);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw ioError(error, "create", home);
  }
  excludeFromGit(root);
}
