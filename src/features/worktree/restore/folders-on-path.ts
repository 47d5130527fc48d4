/**
 * Checks and makes the folders on the way to a path of the payload. They may have changed since the rescue snapshot:
 * one is gone, or a file or a link has its name, and through a link a step would be done outside the payload.
 */
import { lstatSync, mkdirSync } from "node:fs";
import { join } from "node:path";

export function isFolder(full: string): boolean {
  return lstatSync(full, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** Whether all of them are folders. */
export function isReached(payload: string, path: string): boolean {
  return foldersTo(path).every((folder) => isFolder(join(payload, folder)));
}

/** Makes those that are not, after what is there was put aside. For their modes there are other steps, or another restore. */
export function makeWay(payload: string, path: string, putAside: (full: string) => void): void {
  for (const folder of foldersTo(path)) {
    const full = join(payload, folder);
    // mutant: restore-way: isFolder(full)) → lstatSync(full, { throwIfNoEntry: false }) !== undefined)
    if (isFolder(full)) continue;
    putAside(full);
    mkdirSync(full, { mode: 0o700 });
  }
}

/** From the top down, without the payload and the path itself. */
function foldersTo(path: string): string[] {
  const names = path.split("/").slice(0, -1);
  return names.map((_, at) => names.slice(0, at + 1).join("/"));
}
