/** Reads a file that may be gone or forbidden. */
import { closeSync, openSync } from "node:fs";

/** What `read` makes of the file, or null when it cannot be opened: it is gone, or not for this user. */
export function ifReadable<T>(path: string, read: (fd: number) => T): T | null {
  let fd: number;
  try {
    fd = openSync(path, "r");
  } catch {
    return null;
  }
  try {
    return read(fd);
  } finally {
    closeSync(fd);
  }
}
