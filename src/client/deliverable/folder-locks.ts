/**
 * Looks for the lock of a deliverable folder around a file: a `_LOCK.json` in a folder from the file up to the top of its
 * tree. A client that is granted the key of a file calls this after the grant, and gives the grant back when it throws. A
 * program that locks the folder asks the store first and writes `_LOCK.json` then, so one of two that come at once sees
 * the other.
 *
 * The look costs a call of the system for each folder, and remembers nothing: a lock that was made just now counts.
 *
 * Not promised: a `_LOCK.json` below a folder that is locked, written by a program that asks no store.
 */
import { basename, dirname, join } from "node:path";
import type { Key } from "../../lock/key.js";
import { createSystemClock } from "../../platform/clock.js";
import { lookUp } from "../../platform/look-up.js";
import { fileOfKey } from "../path-key.js";
import { isOfRun } from "../workspace/run-name.js";
import { readContent } from "./content.js";
import { mayRecover } from "./liveness.js";
import { identityOf, LOCK_FILE, type Places, placesIn } from "./paths.js";
import { corrupt, inTheWay } from "./refusals.js";

/**
 * Throws when a folder around the file of this key is locked under another name: `E_LOCK_CONFLICT` with the report,
 * `E_STORE_CORRUPT` when it cannot be told, `E_FORMAT_UNSUPPORTED`, `E_IO`. A lock that may be taken over is not held.
 */
export function assertFoldersFree(root: string, key: Key, owner: string): void {
  const file = fileOfKey(root, key);
  if (file === null) return;
  for (let at = file.path; ; at = dirname(at)) {
    // mutant: folder-lock-look: if (lookUp(join(at, LOCK_FILE)) !== null) → if (lookUp(join(at, LOCK_FILE)) === undefined)
    if (lookUp(join(at, LOCK_FILE)) !== null) assertFree(placesIn(at), owner);
    if (at === file.top || dirname(at) === at) return;
  }
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
