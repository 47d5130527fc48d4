/**
 * Lists the entries of a folder, in the order of the system; null when there is no such folder. Most folders are read
 * at once, a big one piece by piece, so that memory does not grow with it.
 */
import { type Dirent, lstatSync, opendirSync, readdirSync } from "node:fs";

/** A folder that takes more than this has too many names to hold all of them. */
const AT_ONCE_BYTES = 65_536;

/** `size` is that of the folder itself, for who has looked at it just now. */
export function entriesIn(folder: string, size = sizeOf(folder)): Iterable<Dirent> | null {
  if (size === undefined) return null;
  try {
    return size <= AT_ONCE_BYTES ? readdirSync(folder, { withFileTypes: true }) : inPieces(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

function sizeOf(folder: string): number | undefined {
  return lstatSync(folder, { throwIfNoEntry: false })?.size;
}

function inPieces(folder: string): Iterable<Dirent> {
  const entries = opendirSync(folder);
  return (function* () {
    try {
      for (let entry = entries.readSync(); entry !== null; entry = entries.readSync()) yield entry;
    } finally {
      entries.closeSync();
    }
  })();
}
