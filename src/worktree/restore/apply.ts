/**
 * Doing the steps. Each may be done again after a crash: what stands in its way is put aside, never removed, and a file
 * whose staged copy is gone has been put. Nothing is decided here; the caller runs a few steps at a time under the guard.
 */
import {
  type BigIntStats,
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  unlinkSync,
  utimesSync,
} from "node:fs";
import { join } from "node:path";
import { ioError } from "../../support/errors.js";
import { evidenceOf } from "../capture/evidence.js";
import type { Place } from "./journal.js";
import type { Step } from "./steps.js";
import { timeOf } from "./times.js";

export function applyStep({ payload, stage }: Place, step: Step): void {
  const full = join(payload, step.path);
  try {
    switch (step.op) {
      case "open":
        openFolder(full);
        break;
      case "away":
        putAside(stage, full, step.n, step.was);
        break;
      case "rmdir":
        removeFolder(full);
        break;
      case "mkdir":
        makeFolder(stage, full, step.n);
        break;
      case "put":
        put(stage, full, step.n, step.was);
        break;
      case "link":
        link(stage, full, join(payload, step.to), step.n, step.was);
        break;
      case "file":
      case "folder":
        chmodSync(full, step.mode);
        utimesSync(full, timeOf(step.mtime_us), timeOf(step.mtime_us));
        break;
      case "symlink":
        lutimesSync(full, timeOf(step.mtime_us), timeOf(step.mtime_us));
    }
  } catch (error) {
    throw ioError(error, `restore (${step.op})`, full);
  }
}

function makeFolder(stage: string, full: string, n: number): void {
  if (lstatSync(full, { throwIfNoEntry: false })?.isDirectory() === true) {
    openFolder(full);
    return;
  }
  putAside(stage, full, n, null);
  mkdirSync(full, { mode: 0o700 });
}

function openFolder(full: string): void {
  const stats = lstatSync(full, { throwIfNoEntry: false });
  if (stats?.isDirectory() && (stats.mode & 0o700) !== 0o700) chmodSync(full, (stats.mode & 0o7777) | 0o700);
}

/** What the rescue snapshot has, as it has it, is called by its number; whatever else was there, `keep-`. */
function putAside(stage: string, full: string, n: number, was: string | null): void {
  const stats = lstatSync(full, { bigint: true, throwIfNoEntry: false });
  if (stats === undefined) return;
  const isSaved = was !== null && sameFile(was, full, stats);
  for (let again = 0; ; again += 1) {
    const aside = join(stage, "old", `${isSaved ? "" : "keep-"}${n}${again === 0 ? "" : `.${again}`}`);
    if (lstatSync(aside, { throwIfNoEntry: false }) !== undefined) continue;
    renameSync(full, aside);
    return;
  }
}

/**
 * The change time counts as well: nobody has touched it since it was saved. Only of a file with several names it cannot:
 * putting one name aside changes it for all.
 */
function sameFile(was: string, full: string, stats: BigIntStats): boolean {
  const kind = stats.isFile() ? "file" : stats.isSymbolicLink() ? "symlink" : null;
  if (kind === null) return false;
  const target = kind === "symlink" ? readlinkSync(full) : "";
  const is = evidenceOf({ kind, path: "", full, stats, target });
  return is === was || (stats.nlink > 1n && withoutChangeTime(is) === withoutChangeTime(was));
}

function withoutChangeTime(evidence: string): string {
  return evidence.replace(/ \d+ (\d+)$/, " $1");
}

/** Whoever has put something into it since keeps the folder. */
function removeFolder(full: string): void {
  try {
    rmdirSync(full);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" && code !== "ENOTEMPTY" && code !== "EEXIST" && code !== "ENOTDIR") throw error;
  }
}

function put(stage: string, full: string, n: number, was: string | null): void {
  const fresh = join(stage, "new", String(n));
  if (lstatSync(fresh, { throwIfNoEntry: false }) === undefined) return;
  putAside(stage, full, n, was);
  renameSync(fresh, full);
}

function link(stage: string, full: string, to: string, n: number, was: string | null): void {
  const target = lstatSync(to);
  const there = lstatSync(full, { throwIfNoEntry: false });
  if (there !== undefined && there.ino === target.ino && there.dev === target.dev) return;
  const fresh = join(stage, "new", String(n));
  if (existsSync(fresh)) unlinkSync(fresh);
  linkSync(to, fresh);
  put(stage, full, n, was);
}
