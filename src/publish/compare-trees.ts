/** What is different between two trees. Files with the same size and time count as the same; others are read. */
import { closeSync, type Dirent, lstatSync, openSync, readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { ioError } from "../support/errors.js";
import { sumOf } from "./file-work.js";

/** Paths that are named; the others are only counted. */
const MOST_NAMED = 1_000;

export interface TreeChanges {
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  /** `+ path`, `~ path`, `- path`; a thousand at most. */
  readonly paths: readonly string[];
}

/** From the old tree, which may be absent, to the new one. Folders count like files. */
export async function compareTrees(before: string, after: string): Promise<TreeChanges> {
  const counts = { added: 0, changed: 0, removed: 0 };
  const paths: string[] = [];
  const tell = (what: keyof typeof counts, path: string): void => {
    counts[what] += 1;
    if (paths.length < MOST_NAMED) paths.push(`${{ added: "+", changed: "~", removed: "-" }[what]} ${path}`);
  };

  const walk = async (inner: string): Promise<void> => {
    const old = entriesOf(join(before, inner));
    const now = entriesOf(join(after, inner));
    for (const [name, entry] of [...now].sort(([a], [b]) => (a < b ? -1 : 1))) {
      const path = join(inner, name);
      const was = old.get(name);
      if (was === undefined) tell("added", path);
      else if (typeOf(was) !== typeOf(entry)) tell("changed", path);
      else if (!entry.isDirectory() && (await differs(join(before, path), join(after, path), entry)))
        tell("changed", path);
      if (entry.isDirectory()) await walk(path);
    }
    for (const name of [...old.keys()].sort()) if (!now.has(name)) tell("removed", join(inner, name));
  };

  try {
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

async function differs(before: string, after: string, entry: Dirent): Promise<boolean> {
  if (entry.isSymbolicLink()) return !readlinkSync(before, "buffer").equals(readlinkSync(after, "buffer"));
  const [a, b] = [lstatSync(before), lstatSync(after)];
  if (a.mode !== b.mode || a.size !== b.size) return true;
  return Math.abs(a.mtimeMs - b.mtimeMs) >= 1 && (await sum(before)) !== (await sum(after));
}

async function sum(path: string): Promise<string> {
  const fd = openSync(path, "r");
  try {
    return (await sumOf(fd)).sha256;
  } finally {
    closeSync(fd);
  }
}
