/** Copies of trees for a stage: blocks are shared with the original where the file system can (reflink). */
import { chmodSync, constants, realpathSync, statSync } from "node:fs";
import { cp } from "node:fs/promises";
import { sep } from "node:path";
import { invalidArgument, ioError } from "../support/errors.js";

/** Contents, modes, times, links as they are. `E_INVALID_ARGUMENT` when one lies inside the other, `E_IO`. */
export async function copyTree(from: string, into: string): Promise<void> {
  try {
    if (!statSync(from).isDirectory()) throw invalidArgument("from", `${from} is no folder`);
    if (isInside(realpathSync.native(into), realpathSync.native(from)))
      throw invalidArgument("from", `${from} contains the place where it would be copied to`);
    await cp(from, into, {
      recursive: true,
      preserveTimestamps: true,
      verbatimSymlinks: true,
      mode: constants.COPYFILE_FICLONE,
    });
    chmodSync(into, statSync(from).mode & 0o7777);
  } catch (error) {
    throw ioError(error, "copy", from);
  }
}

function isInside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}
