/** Looks a path up and keeps apart what is not there and what cannot be told: a missing permission is never an absence. */
import { type Stats, statSync } from "node:fs";
import { ioError } from "../base/errors.js";

/** Returns the facts of a file, or null when it is not there. Throws `E_IO` when the system does not say. */
export function statOf(path: string): Stats | null {
  try {
    return statSync(path, { throwIfNoEntry: false }) ?? null;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw code === undefined ? error : ioError(error, "look at", path);
  }
}

export function kindAt(path: string): "file" | "folder" | null {
  const found = statOf(path);
  if (found === null) return null;
  return found.isDirectory() ? "folder" : "file";
}
