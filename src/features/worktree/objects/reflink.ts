/**
 * Makes a new file that shares the blocks of another until one of them is written to: no bytes are copied, and neither
 * sees later changes of the other. XFS, Btrfs and others can; a file system that cannot is tried only once.
 */
import { constants, copyFileSync } from "node:fs";

/** Copying the bytes would fail as well. Anything else is only about clones. */
const FAILURES = new Set(["ENOSPC", "EDQUOT", "EIO", "EROFS"]);
const AS_CLONE = constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE_FORCE;

/** False: nothing was made. */
export type Reflink = (from: string, to: string) => boolean;

export function createReflink(): Reflink {
  let isPossible = true;
  return (from, to) => {
    if (!isPossible) return false;
    try {
      copyFileSync(from, to, AS_CLONE);
      return true;
    } catch (error) {
      if (FAILURES.has((error as NodeJS.ErrnoException).code ?? "")) throw error;
      isPossible = false;
      return false;
    }
  };
}
