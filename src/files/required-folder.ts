/** Checks that a folder which the caller names is there: a misspelled one would be made, empty, beside the one that is meant. */
import { statSync } from "node:fs";
import { dirname } from "node:path";
import { invalidArgument, ioError } from "../base/errors.js";

/** `E_INVALID_ARGUMENT` naming the field when it is not there or not a folder, `E_IO` when the system does not tell. */
export function requireFolder(path: string, field: string): void {
  const found = lookAt(path);
  // mutant: folder-missing: === true) return; → !== false) return;
  if (found?.isDirectory() === true) return;
  if (found !== undefined) throw invalidArgument(field, `${path} is not a folder`);
  throw invalidArgument(field, `there is no folder ${path}`, "Check its spelling, or make it.");
}

/** The same for the folder around one that is made when it is missing. */
export function requireParent(path: string, field: string): void {
  requireFolder(dirname(path), field);
}

function lookAt(path: string) {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    throw ioError(error, "look at", path);
  }
}
