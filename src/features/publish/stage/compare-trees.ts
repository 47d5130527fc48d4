/**
 * Compares a tree with its copy, after work on the copy. A file of the copy that was not touched since it was made
 * counts as the same, others are read. Its size and mtime alone prove nothing: repeatable builds, and tools that
 * unpack, set the same time on everything. Programs cannot set the ctime.
 */
import { closeSync, type Dirent, lstatSync, openSync, readdirSync, readlinkSync, type Stats } from "node:fs";
import { join } from "node:path";
import { ioError } from "../../../base/errors.js";
import { sumOf } from "../file-work.js";

/** Paths that are named; the others are only counted. */
const MOST_NAMED = 1_000;

/** Longer than any tick of a kernel's coarse clock. */
const GRAIN_MS = 20;

/** When the copy was made, by the wall clock. */
export interface Copying {
  readonly beganMs: number;
  readonly endedMs: number;
}

export interface TreeChanges {
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  /** `+ path`, `~ path`, `- path`; a thousand at most. */
  readonly paths: readonly string[];
}

/** From the old tree, which may be absent, to the new one. Folders count like files. */
export async function compareTrees(before: string, after: string, copying: Copying): Promise<TreeChanges> {
  const counts = { added: 0, changed: 0, removed: 0 };
  const paths: string[] = [];
  const tell = (what: keyof typeof counts, path: string): void => {
    counts[what] += 1;
    if (paths.length < MOST_NAMED) paths.push(`${{ added: "+", changed: "~", removed: "-" }[what]} ${path}`);
  };

  const isChanged = (path: string, entry: Dirent): boolean | Promise<boolean> => {
    const [one, other] = [join(before, path), join(after, path)];
    if (entry.isDirectory()) return lstatSync(one).mode !== lstatSync(other).mode;
    if (entry.isSymbolicLink()) return !readlinkSync(one, "buffer").equals(readlinkSync(other, "buffer"));
    return differs(one, other, copying);
  };
  const walk = async (inner: string): Promise<void> => {
    const old = entriesOf(join(before, inner));
    const now = entriesOf(join(after, inner));
    for (const [name, entry] of [...now].sort(([a], [b]) => (a < b ? -1 : 1))) {
      const path = join(inner, name);
      const was = old.get(name);
      if (was === undefined) tell("added", path);
      else if (typeOf(was) !== typeOf(entry) || (await isChanged(path, entry))) tell("changed", path);
      if (entry.isDirectory()) await walk(path);
    }
    for (const name of [...old.keys()].sort()) if (!now.has(name)) tell("removed", join(inner, name));
  };

  try {
    const root = lstatSync(before, { throwIfNoEntry: false });
    if (root !== undefined && root.mode !== lstatSync(after).mode) tell("changed", ".");
    await walk("");
  } catch (error) {
    throw ioError(error, "compare", after);
  }
  return { ...counts, paths };
}

function entriesOf(folder: string): Map<string, Dirent> {
  try {
    return new Map(readdirSync(folder, { withFileTypes: true }).map((entry) => [entry.name, entry]));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return new Map();
    throw error;
  }
}

function typeOf(entry: Dirent): string {
  return entry.isDirectory() ? "folder" : entry.isSymbolicLink() ? "link" : "file";
}

async function differs(before: string, after: string, copying: Copying): Promise<boolean> {
  const [a, b] = [lstatSync(before), lstatSync(after)];
  if (a.mode !== b.mode || a.size !== b.size) return true;
  return isTouched(a, b, copying) && (await sum(before)) !== (await sum(after));
}

/** Its ctime must be of the time of the copying: a clock that was set back shows as well. */
function isTouched(a: Stats, b: Stats, { beganMs, endedMs }: Copying): boolean {
  const isOfCopying = b.ctimeMs >= beganMs - GRAIN_MS && b.ctimeMs < endedMs - GRAIN_MS;
  // mutant: stage-same-time: return !isOfCopying || Math.abs → return Math.abs
  return !isOfCopying || Math.abs(a.mtimeMs - b.mtimeMs) >= 1;
}

async function sum(path: string): Promise<string> {
  const fd = openSync(path, "r");
  try {
    return (await sumOf(fd)).sha256;
  } finally {
    closeSync(fd);
  }
}
