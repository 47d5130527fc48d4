/**
 * Applies the steps of a restore in place. Each may be repeated after a crash: what stands in its way is put aside,
 * never removed, and a file whose staged copy is gone is already in place. Nothing is decided here; the caller runs a few
 * steps at a time under the guard.
 *
 * A file or folder that was removed after the rescue snapshot does not stop the steps, because otherwise every process that
 * settles would fail: folders are made again, and an entry that only gets another mode or time stays removed. Only the
 * payload itself must be there.
 */
import {
  type BigIntStats,
  chmodSync,
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
import { HoldfastError, ioError } from "../../../base/errors.js";
import { isThere } from "../../../platform/look-up.js";
import { evidenceOf } from "../capture/evidence.js";
import { isFolder, isReached, makeWay } from "./folders-on-path.js";
import type { Place } from "./journal.js";
import type { Step } from "./steps.js";
import { timeOf } from "./times.js";

/** The steps after which something is there. The others have nothing to do where there is nothing. */
const MAKES: ReadonlySet<Step["op"]> = new Set(["mkdir", "put", "link", "folder"]);

/** What was in the way of a folder is put aside under this number; those of steps begin with 1. */
const IN_THE_WAY = 0;

export function applyStep(place: Place, step: Step): void {
  const { payload, stage } = place;
  const full = join(payload, step.path);
  try {
    if (!isFolder(payload)) throw payloadGone(place);
    if (MAKES.has(step.op)) makeWay(payload, step.path, (found) => putAside(stage, found, IN_THE_WAY, null));
    else if (!isReached(payload, step.path)) return;
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
        if (isReached(payload, step.to)) link(stage, full, join(payload, step.to), step.n, step.was);
        break;
      case "file":
        // mutant: restore-mode-of-link: })?.isFile()) setModeAndTime(full, step); → })) setModeAndTime(full, step);
        if (lstatSync(full, { throwIfNoEntry: false })?.isFile()) setModeAndTime(full, step);
        break;
      case "folder":
        makeFolder(stage, full, IN_THE_WAY);
        setModeAndTime(full, step);
        break;
      case "symlink":
        if (lstatSync(full, { throwIfNoEntry: false })?.isSymbolicLink())
          lutimesSync(full, timeOf(step.mtime_us), timeOf(step.mtime_us));
    }
  } catch (error) {
    throw ioError(error, `restore (${step.op})`, full);
  }
}

function payloadGone({ payload, worktree_id: name }: Place): HoldfastError {
  return new HoldfastError("E_IO", `${payload} is no folder any more, and a restore of it in place is not finished`, {
    details: { path: payload },
    next: [`Put it back, or make an empty folder there; then \`holdfast restore --resume ${name}\`.`],
  });
}

function setModeAndTime(full: string, { mode, mtime_us: mtimeUs }: { mode: number; mtime_us: number }): void {
  chmodSync(full, mode);
  utimesSync(full, timeOf(mtimeUs), timeOf(mtimeUs));
}

function makeFolder(stage: string, full: string, n: number): void {
  if (isFolder(full)) {
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
  // mutant: restore-unsaved: null && sameFile(was, full, stats → undefined || sameFile(was ?? '', full, stats
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
  const target = lstatSync(to, { throwIfNoEntry: false });
  if (target?.isFile() !== true) return;
  const there = lstatSync(full, { throwIfNoEntry: false });
  if (there !== undefined && there.ino === target.ino && there.dev === target.dev) return;
  const fresh = join(stage, "new", String(n));
  if (isThere(fresh)) unlinkSync(fresh);
  linkSync(to, fresh);
  put(stage, full, n, was);
}
