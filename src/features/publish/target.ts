/** Resolves the target of a publish, and makes the folder beside it that holds the stage. */
import { lstatSync, mkdirSync, renameSync, rmdirSync, type Stats } from "node:fs";
import { basename, dirname, join, resolve, sep } from "node:path";
import { HoldfastError, invalidArgument, ioError } from "../../base/errors.js";
import { given } from "../../base/given.js";
import { HOME } from "../../base/home-folder.js";
import { existingTextPath } from "../../files/real-path.js";
import { cradleOf } from "../../platform/exchange.js";

/** The folder for stages, in the parent of every target. */
const TMP = "tmp";

export interface Place {
  /** Absolute, links in the parent resolved. */
  readonly path: string;
  readonly parent: string;
  readonly tmp: string;
  /** Another file system is mounted at the path. */
  readonly isMount: boolean;
}

export interface Target extends Place {
  readonly id: string;
  readonly stage: string;
  /** Whether `tmp` was made for this, and so goes with it. */
  hasMadeTmp: boolean;
}

/** `E_INVALID_ARGUMENT` for what cannot be published, `E_IO` when the parent is not there. */
export function resolvePlace(given: string): Place {
  if (typeof given !== "string" || given === "") throw invalidArgument("target", "a path");
  const absolute = resolve(given);
  const name = basename(absolute);
  if (name === "" || name === TMP)
    throw invalidArgument("target", `${given} cannot be published: it is no name of its own`);
  let parent: string;
  try {
    parent = existingTextPath(dirname(absolute));
  } catch (error) {
    throw ioError(error, "find the parent of", given);
  }
  const named = join(parent, name);
  const tmp = join(parent, TMP);
  const there = folderAt(named);
  const path = there === undefined ? named : realPath(named);
  const stages = lookAt(tmp);
  if (stages?.isDirectory() === false) throw invalidArgument("target", `${tmp} is in the way: it is no folder`);
  const isMount = there !== undefined && there.dev !== (stages ?? lookAt(parent))?.dev;
  return { path, parent, tmp, isMount };
}

/**
 * Whoever replaces a workspace, or a folder around it, throws its locks, board and snapshots away with the old tree.
 * `E_INVALID_ARGUMENT`
 */
export function assertApart({ path }: Place, storeUrl: string, workspace: string | undefined): void {
  const [, store] = /^(?:sqlite|file):(.+)$/s.exec(storeUrl) ?? [];
  if (path.split(sep).includes(HOME)) throw ownFolder(path, `it lies in a ${HOME}/`);
  if (lookAt(join(path, HOME)) !== undefined) throw ownFolder(path, `it has a ${HOME}/, which would be lost with it`);
  if (store !== undefined && isInside(path, realStore(store))) throw ownFolder(path, "the locks are kept in it");
  // mutant: publish-around-workspace: && isInside(path, realPath(workspace))) → && path === workspace)
  if (workspace !== undefined && isInside(path, realPath(workspace)))
    throw ownFolder(path, "it contains the workspace");
}

function isInside(folder: string, inner: string): boolean {
  return `${inner}${sep}`.startsWith(`${folder}${sep}`);
}

/** The store that was published under last: it is open, so it stays where it is. */
let lastStore = { given: "", real: "" };

function realStore(given: string): string {
  if (lastStore.given !== given) lastStore = { given, real: realPath(given) };
  return lastStore.real;
}

function realPath(path: string): string {
  try {
    return existingTextPath(path);
  } catch (error) {
    throw ioError(error, "find", path);
  }
}

function ownFolder(path: string, why: string): HoldfastError {
  return invalidArgument("target", `${path} cannot be replaced: ${why}; publish to a folder of its own`);
}

export function targetAt({ path, parent, tmp, isMount }: Place, id: string): Target {
  return { path, parent, tmp, isMount, id, stage: join(tmp, id), hasMadeTmp: false };
}

/** A publish replaces folders, never a file or a link. `E_INVALID_ARGUMENT`, `E_IO` */
export function folderAt(path: string): Stats | undefined {
  const there = lookAt(path);
  if (there?.isDirectory() === false)
    throw invalidArgument("target", `${path} is a file or a link, and only a folder is replaced`, "Remove it first.");
  return there;
}

function lookAt(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    throw ioError(error, "look at", path);
  }
}

/** Folders for stages that this process has seen one get out of. What is mounted there later, the publish itself meets. */
const proven = new Set<string>();
const MOST_PROVEN = 1_000;

/** Makes the stage, and makes sure that it can get to the target. `E_CROSS_DEVICE`, `E_IO` */
export function makeStageFolder(target: Target): void {
  const { tmp, stage, path, isMount } = target;
  if (isMount) throw crossDevice(path);
  try {
    if (!proven.has(tmp) || !isMadeAt(stage)) {
      makeBesideTarget(target);
      if (proven.size === MOST_PROVEN) proven.clear();
      proven.add(tmp);
    }
  } catch (error) {
    throw asCrossDevice(error, path) ?? ioError(error, "make a stage for", path);
  }
}

/**
 * Makes the stage beside the target and renames it to where it is filled, which proves that it can get back: equal device
 * numbers are no proof, a bind mount or an overlay has them too.
 */
function makeBesideTarget(target: Target): void {
  const { tmp, stage } = target;
  mkdirSync(cradleOf(stage));
  for (let tries = 0; ; tries += 1) {
    try {
      renameSync(cradleOf(stage), stage);
      return;
    } catch (error) {
      // There is no such folder yet, or another publish removed the empty one just now.
      if ((error as NodeJS.ErrnoException).code !== "ENOENT" || tries >= 10) throw error;
    }
    target.hasMadeTmp = mkdirSync(tmp, { recursive: true }) !== undefined || target.hasMadeTmp;
  }
}

/** False when the folder around it is gone: another one there may be elsewhere. */
function isMadeAt(stage: string): boolean {
  try {
    mkdirSync(stage);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return false;
  }
}

/** Takes `tmp` away again if it was made for this and nobody else uses it. */
export function removeStageFolder({ hasMadeTmp, tmp }: Target): void {
  if (!hasMadeTmp) return;
  try {
    rmdirSync(tmp);
  } catch {
    // Others are at work there.
  }
}

export function asCrossDevice(error: unknown, path: string): HoldfastError | null {
  return (error as NodeJS.ErrnoException).code === "EXDEV" ? crossDevice(path, error) : null;
}

function crossDevice(path: string, cause?: unknown): HoldfastError {
  return new HoldfastError("E_CROSS_DEVICE", `${path} is on another file system than its parent folder`, {
    details: { path },
    next: ["Publish into a folder inside that file system, not onto the place where it is mounted."],
    ...given({ cause }),
  });
}
