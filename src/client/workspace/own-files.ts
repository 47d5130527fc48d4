/**
 * Refuses keys that name files which the caller does not share with the workspace: with another store than the recorded
 * one, and keys that are not the ones of the files that they name.
 */
import { HoldfastError } from "../../base/errors.js";
import type { Key } from "../../lock/key.js";
import { DELIVERABLE, isFileKey, WORKTREE } from "../../lock/reserved-kinds.js";
import { ofOtherWorkspace, pathKeyInside, workspaceOfFile } from "../path-key.js";
import { assertKeyOfFile } from "../typed-key.js";
import type { Files } from "./open-store.js";
import { recentRecord } from "./workspace-record.js";

/** Throws `E_CONFIG`, `E_INVALID_ARGUMENT`. */
export function assertOwnFile(files: Files, key: Key): void {
  if (files.kind === "none") return;
  if (files.kind === "foreign") {
    // mutant: files-of-other-store: if (namesFiles(key)) throw → if (key.length === 0) throw
    if (namesFiles(key)) throw notOfThisStore(files.root, files.where, key);
  } else if (isFileKey(key)) assertKeyOfFile(files.root, key);
}

/**
 * Returns the key of a file or folder that is replaced or guarded; null where it lies in no workspace, or in one that has
 * no store yet. Throws `E_CONFIG` for a file of a workspace whose locks are in another store than this one.
 */
export function keyToHold(files: Files, path: string, storeId: string): Key | null {
  const own = files.kind === "workspace" ? pathKeyInside(files.root, path) : null;
  const owner = own === null ? workspaceOfFile("/", path) : null;
  const record = owner === null ? null : recentRecord(owner);
  if (owner === null || record === null) return own;
  // mutant: target-of-another: if (record.store.id !== storeId) throw → if (record.store.id === "") throw
  if (record.store.id !== storeId) throw ofOtherWorkspace(path, owner);
  return pathKeyInside(owner, path);
}

function namesFiles(key: Key): boolean {
  return isFileKey(key) || key.startsWith(WORKTREE) || key.startsWith(DELIVERABLE);
}

function notOfThisStore(root: string, where: string, key: Key): HoldfastError {
  return new HoldfastError("E_CONFIG", `${key} names files of the workspace ${root}, whose locks are in ${where}`, {
    reason: "other_store",
    details: { resource: key, root, store: where },
    next: ["Leave the store out, so that the recorded one is used.", "Or lock a key that names no file."],
  });
}
