/**
 * Finds in the folders of the workspace what other programs or earlier commands left there: another workspace, and a
 * `_LOCK.json` that is not a record of Holdfast. Also finds the workspace in which this one lies.
 *
 * It reads names of folders only, level by level, and stops after FOLDERS of them: what lies deeper in a large workspace is not
 * reported. It follows no link, and passes over linked worktrees, `.git`, `node_modules` and folders that it may not read.
 */
import { type Dirent, readdirSync } from "node:fs";
import { join } from "node:path";
import { isHoldfastError } from "../../../base/errors.js";
import { HOME } from "../../../base/home-folder.js";
import { isOfOtherProgram } from "../../../client/deliverable/folder-locks.js";
import { LOCK_FILE } from "../../../client/deliverable/paths.js";
import { isWorkspace, mainFolderOf, workspaceAround } from "../../../client/workspace/search.js";
import { readRecord } from "../../../client/workspace/workspace-record.js";
import type { Check, Diagnosis } from "../check.js";

const FOLDERS = 10_000;
const PASSED_OVER = new Set([HOME, ".git", "node_modules"]);

export const innerFolders: Check = {
  name: "inner folders",
  look({ workspace: { root, isThere } }): readonly Diagnosis[] {
    if (root === null || !isThere) return [];
    const around = workspaceAround(root);
    return [...(around === null ? [] : nested(root, around)), ...below(root)];
  },
};

function below(root: string): Diagnosis[] {
  const found: Diagnosis[] = [];
  const folders = [root];
  for (let at = 0; at < folders.length && at < FOLDERS; at += 1) {
    const folder = folders[at] ?? root;
    const entries = entriesOf(folder);
    if (folder !== root && entries.some(({ name }) => name === ".git") && isLinkedWorktree(folder)) continue;
    if (entries.some(({ name }) => name === LOCK_FILE)) found.push(...foreignLock(folder));
    if (folder !== root && isWorkspace(folder)) found.push(...nested(folder, root));
    else
      for (const entry of entries)
        if (entry.isDirectory() && !PASSED_OVER.has(entry.name)) folders.push(join(folder, entry.name));
  }
  return found;
}

function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

/** A link that leads nowhere is one too. */
function isLinkedWorktree(folder: string): boolean {
  return orNull(() => mainFolderOf(folder).worktrees.length > 0) ?? true;
}

/** Null for what cannot be told: it is not reported. */
function orNull<T>(query: () => T): T | null {
  try {
    return query();
  } catch (error) {
    if (isHoldfastError(error)) return null;
    throw error;
  }
}

/** One that was made by `init --nested` is meant to be there. */
function nested(inner: string, outer: string): Diagnosis[] {
  const made = orNull(() => readRecord(inner))?.made;
  // mutant: doctor-nested: if (made === "nested") return []; → if (made !== undefined) return [];
  if (made === "nested") return [];
  return [
    {
      code: "WORKSPACE_NESTED",
      message: `the workspace ${inner} lies inside the workspace ${outer}${made === "in_passing" ? ", and was made in passing" : ""}`,
      next: [
        `Use ${outer}, and remove ${join(inner, HOME)} and ${join(inner, "holdfast.config.json")} when nothing is held there.`,
        `Or keep both: holdfast init --nested --root ${inner}`,
      ],
    },
  ];
}

function foreignLock(folder: string): Diagnosis[] {
  if (orNull(() => isOfOtherProgram(folder)) !== true) return [];
  return [
    {
      code: "LOCK_FILE_FOREIGN",
      message: `${join(folder, LOCK_FILE)} is not a record of Holdfast, so it locks nothing here`,
      next: ["Nothing needs to be done if another program uses it. If it was a lock, restore it from a copy."],
    },
  ];
}
