/** Reads a file that may be missing. A link to nothing is damage, never a missing file. */
import { closeSync, openSync, readFileSync } from "node:fs";
import { ioError } from "../base/errors.js";
import { assertNoLink, isAbsence } from "../platform/look-up.js";

/** Returns the text of the file, or null when there is none. Throws `E_IO`, `E_STORE_CORRUPT` for a link to nothing. */
export function textIfThere(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (!isAbsence(error)) throw ioError(error, "read", path);
    assertNoLink(path);
    return null;
  }
}

/** Returns what `read` makes of the file, or null when there is none. Throws what `textIfThere` throws. */
export function ifThere<T>(path: string, read: (fd: number) => T): T | null {
  let fd: number;
  try {
    fd = openSync(path, "r");
  } catch (error) {
    if (!isAbsence(error)) throw ioError(error, "open", path);
    assertNoLink(path);
    return null;
  }
  try {
    return read(fd);
  } catch (error) {
    throw typeof (error as NodeJS.ErrnoException).errno === "number" ? ioError(error, "read", path) : error;
  } finally {
    closeSync(fd);
  }
}
