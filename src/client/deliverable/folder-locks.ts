/**
 * Looks for the lock of a deliverable folder around a file: a `_LOCK.json` in a folder from the file up to the top of its
 * tree. A client that is granted the key of a file calls this after the grant, and gives the grant back when it throws. A
 * program that locks the folder asks the store first and writes `_LOCK.json` then, so one of two that come at once sees
 * the other.
 *
 * The look costs a call of the system for each folder, and one for the file. It remembers for a second where the folders
 * are, and nothing of what is in them: a lock that was made just now counts.
 *
 * Not promised: a `_LOCK.json` below a folder that is locked, written by a program that asks no store.
 */
import { basename, dirname, join, sep } from "node:path";
import { type Key, parseKey } from "../../lock/key.js";
import { createSystemClock } from "../../platform/clock.js";
import { kindAt, lookUp } from "../../platform/look-up.js";
import { fileOfKey } from "../path-key.js";
import { isOfRun } from "../workspace/run-name.js";
import { createShortMemory } from "../workspace/short-memory.js";
import { readContent } from "./content.js";
import { mayRecover } from "./liveness.js";
import { identityOf, LOCK_FILE, type Places, placesIn } from "./paths.js";
import { corrupt, inTheWay } from "./refusals.js";

/**
 * Throws when a folder around the file of this key is locked under another name: `E_LOCK_CONFLICT` with the report,
 * `E_STORE_CORRUPT` when it cannot be told, `E_FORMAT_UNSUPPORTED`, `E_IO`. A lock that may be taken over is not held.
 */
export function assertFoldersFree(root: string, key: Key, owner: string): void {
  const at = key.lastIndexOf("/");
  const name = key.slice(at + 1);
  const above = at === -1 || name.includes("%") ? undefined : recentFolders(root, key.slice(0, at));
  const file = above?.[0] === undefined ? undefined : `${above[0].folder}${sep}${name}`;
  if (above === undefined || file === undefined) {
    for (const each of foldersFrom(root, key)) assertFolderFree(each, owner);
    return;
  }
  // A lookup below what is no folder is an error of the system, which costs more than to look at the file first.
  // mutant: folder-lock-new: if (kindAt(file) === "folder") → if (kindAt(file) === null)
  if (kindAt(file) === "folder") assertFolderFree(folderAt(file), owner);
  for (const each of above) assertFolderFree(each, owner);
}

interface Folder {
  readonly folder: string;
  readonly lock: string;
}

const memory = createShortMemory<readonly Folder[]>();

function recentFolders(root: string, key: string): readonly Folder[] {
  return memory.recall(`${root} ${key}`, () => foldersFrom(root, parseKey(key)));
}

/** Returns what a key names and the folders around it, up to the top of its tree; none for a key that names no file. */
function foldersFrom(root: string, key: Key): readonly Folder[] {
  const file = fileOfKey(root, key);
  if (file === null) return [];
  const found: Folder[] = [];
  for (let at = file.path; ; at = dirname(at)) {
    found.push(folderAt(at));
    if (at === file.top || dirname(at) === at) return found;
  }
}

function folderAt(folder: string): Folder {
  return { folder, lock: join(folder, LOCK_FILE) };
}

function assertFolderFree({ folder, lock }: Folder, owner: string): void {
  // mutant: folder-lock-look: if (lookUp(lock) !== null) → if (lookUp(lock) === undefined)
  if (lookUp(lock) !== null) assertFree(placesIn(folder), owner);
}

function assertFree(places: Places, owner: string): void {
  const content = readContent(places, identityOf(places));
  if (content.kind === "free" || isOfOtherProgram(places.folder)) return;
  if (content.kind === "corrupt") throw corrupt(places, content.why);
  const { lock } = content;
  // mutant: folder-lock-own: if (isOfRun(owner, lock.record.holder)) return; →
  if (isOfRun(owner, lock.record.holder)) return;
  const now = createSystemClock()();
  // mutant: folder-lock-over: if (mayRecover(places, lock, now) === null) throw → throw
  if (mayRecover(places, lock, now) === null) throw inTheWay(places, lock, now);
}

/** Whether the `_LOCK.json` of a folder belongs to another program: it has no record, and Holdfast has kept nothing beside it. */
export function isOfOtherProgram(folder: string): boolean {
  const places = placesIn(folder);
  if (readContent(places, identityOf(places)).kind !== "corrupt") return false;
  return lookUp(places.log) === null && lookUp(places.own) === null;
}

/** Whether a path names the lock of a folder, there or not yet. Agents write none by hand. */
export function isFolderLock(path: string): boolean {
  if (basename(path) !== LOCK_FILE) return false;
  return lookUp(path) === null || !isOfOtherProgram(dirname(path));
}
