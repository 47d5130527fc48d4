/**
 * One line of a manifest: a JSON array whose first word is the kind. Lines stand in the order of the walk: a folder, then
 * what is in it, names by their code units. Times are kept to the microsecond, which is what a restore can set.
 *
 *   ["d", path, mode, mtime_us]                    a folder; the payload itself is the path ""
 *   ["f", path, mode, mtime_us, size, sha256]      a file
 *   ["s", path, mode, mtime_us, size, sha256]      a file with holes
 *   ["l", path, mtime_us, target]                  a symbolic link
 *   ["h", path, earlier path]                      a hard link to a file that came earlier
 */
import { HoldfastError } from "../../../base/errors.js";

export interface FolderEntry {
  readonly kind: "folder";
  readonly path: string;
  readonly mode: number;
  readonly mtimeUs: number;
}

export interface FileEntry {
  readonly kind: "file";
  readonly path: string;
  readonly mode: number;
  readonly mtimeUs: number;
  readonly size: number;
  readonly sha256: string;
  readonly hasHoles: boolean;
}

export interface LinkEntry {
  readonly kind: "symlink";
  readonly path: string;
  readonly mtimeUs: number;
  readonly target: string;
}

export interface HardLinkEntry {
  readonly kind: "hardlink";
  readonly path: string;
  readonly to: string;
}

export type Entry = FolderEntry | FileEntry | LinkEntry | HardLinkEntry;

export function entryLine(entry: Entry): string {
  const path = JSON.stringify(entry.path);
  switch (entry.kind) {
    case "folder":
      return `["d",${path},${entry.mode},${entry.mtimeUs}]\n`;
    case "file":
      return `["${entry.hasHoles ? "s" : "f"}",${path},${entry.mode},${entry.mtimeUs},${entry.size},"${entry.sha256}"]\n`;
    case "symlink":
      return `["l",${path},${entry.mtimeUs},${JSON.stringify(entry.target)}]\n`;
    case "hardlink":
      return `["h",${path},${JSON.stringify(entry.to)}]\n`;
  }
}

/** What comes from a store is checked like any input: a crafted one must not lead out of the tree. `E_STORE_CORRUPT`. */
export function parseEntry(line: string): Entry {
  try {
    const [kind, path, a, b, c, d] = JSON.parse(line) as unknown[];
    checkPath(path);
    if (kind === "d") return { kind: "folder", path, mode: mode(a), mtimeUs: whole(b) };
    if (path === "") throw new RangeError("only a folder has the empty path");
    if (kind === "f" || kind === "s")
      return {
        kind: "file",
        path,
        mode: mode(a),
        mtimeUs: whole(b),
        size: size(c),
        sha256: sha(d),
        hasHoles: kind === "s",
      };
    if (kind === "l") return { kind: "symlink", path, mtimeUs: whole(a), target: target(b) };
    if (kind === "h") {
      checkPath(a);
      if (a === "") throw new RangeError("a hard link to a folder");
      return { kind: "hardlink", path, to: a };
    }
    throw new RangeError("no known kind");
  } catch (cause) {
    throw new HoldfastError(
      "E_STORE_CORRUPT",
      `this is no line of a manifest: ${line.slice(0, 200)} (${(cause as Error).message})`,
    );
  }
}

function checkPath(path: unknown): asserts path is string {
  if (typeof path !== "string" || path.includes("\0")) throw new RangeError("no path");
  if (path === "") return;
  // mutant: restore-path: === "" || name === "." || name === "..") throw → === "never this") throw
  for (const name of path.split("/"))
    if (name === "" || name === "." || name === "..") throw new RangeError("a path that leaves the tree");
}

function whole(value: unknown): number {
  if (!Number.isSafeInteger(value)) throw new RangeError("no whole number");
  return value as number;
}

function size(value: unknown): number {
  if (whole(value) < 0) throw new RangeError("a negative size");
  return value as number;
}

function mode(value: unknown): number {
  if (whole(value) < 0 || (value as number) > 0o7777) throw new RangeError("no mode");
  return value as number;
}

function sha(value: unknown): string {
  if (typeof value !== "string" || !/^[0-9a-f]{64}$/.test(value)) throw new RangeError("no SHA-256");
  return value;
}

function target(value: unknown): string {
  if (typeof value !== "string" || value === "" || value.includes("\0")) throw new RangeError("no target");
  return value;
}

/** Sorts paths as the walk meets them: `a`, `a/b`, `a.c`. Asked for every entry, so it makes no strings. */
export function comparePaths(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at += 1) {
    const left = a.charCodeAt(at);
    const right = b.charCodeAt(at);
    if (left !== right) return left === SLASH ? -1 : right === SLASH ? 1 : left - right;
  }
  return a.length - b.length;
}

const SLASH = 0x2f;

export function parentOf(path: string): string {
  const at = path.lastIndexOf("/");
  return at < 0 ? "" : path.slice(0, at);
}

export function isSameEntry(a: Entry, b: Entry): boolean {
  return entryLine(a) === entryLine(b);
}
