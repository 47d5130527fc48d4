/** Reads a file that may be gone. */
import { closeSync, openSync } from "node:fs";
import { ioError } from "../base/errors.js";
import { isAbsence } from "../platform/look-up.js";

/** Returns what `read` makes of the file, or null when there is none. Throws `E_IO` when it cannot be opened or read. */
export function ifThere<T>(path: string, read: (fd: number) => T): T | null {
  let fd: number;
  try {
    fd = openSync(path, "r");
  } catch (error) {
    if (isAbsence(error)) return null;
    throw ioError(error, "open", path);
  }
  try {
    return read(fd);
  } catch (error) {
    throw typeof (error as NodeJS.ErrnoException).errno === "number" ? ioError(error, "read", path) : error;
  } finally {
    closeSync(fd);
  }
}
