/**
 * Looks up paths. A lookup has three answers: the path is there, it is not there, or this user cannot tell. The third is
 * thrown as `E_IO` that names the path and the user, because a folder that may not be searched, or a disk that fails, says
 * nothing about what lies behind it.
 */
import { lstatSync, readdirSync, readFileSync, type Stats, statSync } from "node:fs";
import { HoldfastError, ioError } from "../base/errors.js";

const QUIET = { throwIfNoEntry: false } as const;

/** Returns the facts of what the path leads to, or null where there is nothing. `E_IO` */
export function lookUp(path: string): Stats | null {
  try {
    return statSync(path, QUIET) ?? null;
  } catch (error) {
    // mutant: permission-is-absence: if (isAbsence(error)) → if (isAbsence(error) || path !== "")
    if (isAbsence(error)) return null;
    throw error instanceof TypeError ? error : ioError(error, "look at", path);
  }
}

/** Returns whether the path leads to anything. `E_IO` */
export function isThere(path: string): boolean {
  return lookUp(path) !== null;
}

/** Returns what kind of thing is there; null where there is nothing. `E_IO` */
export function kindAt(path: string): "file" | "folder" | null {
  const found = lookUp(path);
  if (found === null) return null;
  return found.isDirectory() ? "folder" : "file";
}

/** Returns the names in a folder; none where there is no folder. `E_IO` */
export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (isAbsence(error)) return [];
    throw ioError(error, "list", folder);
  }
}

/** Returns the text of a file of another program; null where there is none, or a link to nothing. `E_IO` */
export function textAt(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (isAbsence(error)) return null;
    throw ioError(error, "read", path);
  }
}

/**
 * Throws `E_STORE_CORRUPT` for a link to nothing. Call it where a file was not found and its absence would mean that
 * nothing was ever written there: a link says that something was.
 */
export function assertNoLink(path: string): void {
  // mutant: link-to-nothing: if (entryAt(path)?.isSymbolicLink() && !isThere(path)) → if (path === "")
  if (entryAt(path)?.isSymbolicLink() && !isThere(path))
    throw new HoldfastError("E_STORE_CORRUPT", `${path} is a link to a file that is not there`, {
      details: { path },
      next: [`Put the file back, or remove the link: rm ${path}`],
    });
}

/** Returns whether a folder has an entry of this name, whatever it is: also a link to nothing. `E_IO` */
export function isNamed(path: string): boolean {
  return entryAt(path) !== null;
}

/** Returns the facts of the entry itself, also of a link, or null where there is none. `E_IO` */
export function entryAt(path: string): Stats | null {
  try {
    return lstatSync(path, QUIET) ?? null;
  } catch (error) {
    if (isAbsence(error)) return null;
    throw ioError(error, "look at", path);
  }
}

/** Returns whether an error of a system call says that the path does not exist. */
export function isAbsence(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOENT" || code === "ENOTDIR";
}
