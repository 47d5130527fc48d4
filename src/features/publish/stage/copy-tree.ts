/** Copies a tree into a stage: blocks are shared with the original where the file system can (reflink). */
import { chmodSync, constants, statSync } from "node:fs";
import { cp } from "node:fs/promises";
import { join, sep } from "node:path";
import { invalidArgument, ioError } from "../../../base/errors.js";
import { existingTextPath } from "../../../files/real-path.js";

/**
 * Contents, modes, times, links as they are, until the signal aborts. `E_INVALID_ARGUMENT` when one lies inside the other,
 * `E_IO`.
 */
export async function copyTree(from: string, into: string, signal: AbortSignal | null): Promise<void> {
  try {
    if (!statSync(from).isDirectory()) throw invalidArgument("from", `${from} is no folder`);
    if (isInside(existingTextPath(into), existingTextPath(from)))
      throw invalidArgument("from", `${from} contains the place where it would be copied to`);
    await cp(from, into, {
      recursive: true,
      preserveTimestamps: true,
      verbatimSymlinks: true,
      mode: constants.COPYFILE_FICLONE,
      // mutant: copy-stopped: filter: () => signal?.aborted !== true, →
      filter: () => signal?.aborted !== true,
    });
    signal?.throwIfAborted();
    chmodSync(into, statSync(from).mode & 0o7777);
  } catch (error) {
    signal?.throwIfAborted();
    throw notCopyable(error as NodeJS.ErrnoException, from, into) ?? ioError(error, "copy", from);
  }
}

/** What is wrong with an entry, rather than with the disk. */
function notCopyable({ code = "", path: at = "" }: NodeJS.ErrnoException, from: string, into: string) {
  const path = at.startsWith(`${into}${sep}`) ? join(from, at.slice(into.length)) : at;
  if (/^ERR_FS_CP_(FIFO_PIPE|SOCKET|UNKNOWN)$/.test(code))
    return invalidArgument("from", `${path} is neither file nor folder nor link`);
  if (code === "ENOENT" && path.includes("\ufffd"))
    return invalidArgument("from", `${path} has a name that is not UTF-8, which cannot be published`);
  return null;
}

function isInside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}
