/**
 * Searches the workspace that a folder belongs to. Every way in (library, command, hooks, MCP server, page, doctor) uses
 * this search, so that all of them mean the same workspace.
 *
 * A workspace is a folder with `.holdfast/workspace.json` or `holdfast.config.json`. The search goes upwards to `/`, across
 * submodules and nested repositories. In a linked worktree of git it goes on at the same place of the main worktree, so a
 * repository and all its worktrees have one workspace. Without a workspace it names the folder that may become one: the top
 * of the innermost repository that is not a submodule (of a bare one its own folder), and outside of a repository the
 * folder itself.
 *
 * Throws `E_CONFIG` for a workspace that another user may have planted, for one that was made in passing inside another
 * one, and for a worktree whose main worktree cannot be found; `E_IO` where it may not look. It creates nothing.
 */
import { lstatSync } from "node:fs";
import { dirname, join } from "node:path";
import { HoldfastError } from "../../base/errors.js";
import { HOME } from "../../base/home-folder.js";
import { isNamed, lookUp } from "../../platform/look-up.js";
import { CONFIG_FILE } from "./config.js";
import { inMainWorktree, type LinkedWorktree, repositoryAround } from "./repository.js";
import { createShortMemory } from "./short-memory.js";
import { readRecord, recordPath } from "./workspace-record.js";

export interface Found {
  readonly root: string;
  /** False for the folder that may become a workspace. */
  readonly isThere: boolean;
  /** Whether a repository is around it; the folder of a workspace that is there may lie anywhere. */
  readonly isInRepository: boolean;
  /** The linked worktree that the search began in, as seen from the root's repository. */
  readonly worktree: LinkedWorktree | null;
}

/** Worktrees of submodules lead into worktrees again, but never this deep. */
const MOST_HOPS = 16;

export function searchWorkspace(folder: string, isTrusted: (root: string) => boolean = isTrustworthy): Found {
  const { at, worktrees } = mainFolderOf(folder);
  const worktree = worktrees[0] ?? null;
  const found = nearest(at, isTrusted);
  if (found !== null) return { root: found, isThere: true, isInRepository: true, worktree };
  // mutant: search-bare-top: outermostOf(at) ?? worktrees.at(-1)?.main ?? null; → outermostOf(at);
  const top = outermostOf(at) ?? worktrees.at(-1)?.main ?? null;
  // mutant: search-repository-top: root: top ?? at, → root: at,
  return { root: top ?? at, isThere: false, isInRepository: top !== null, worktree };
}

export interface MainFolder {
  readonly at: string;
  /** The linked worktree around the folder, followed by the one that its main worktree lies in, if it does. */
  readonly worktrees: readonly LinkedWorktree[];
}

/** Returns the folder that a folder of a linked worktree stands for; any other folder is its own. */
export function mainFolderOf(folder: string): MainFolder {
  const worktrees: LinkedWorktree[] = [];
  let at = folder;
  while (worktrees.length < MOST_HOPS) {
    const linked = linkedAround(at);
    if (linked === null) return { at, worktrees };
    worktrees.push(linked);
    // mutant: search-worktree: at = inMainWorktree(linked, at); → return { at: folder, worktrees: [] };
    at = inMainWorktree(linked, at);
  }
  throw new HoldfastError("E_CONFIG", `the worktrees around ${folder} lead in a circle`, {
    reason: "no_main_worktree",
    details: { path: folder },
  });
}

/** A repository nested in a linked worktree moves with it, and so does a submodule. */
function linkedAround(folder: string): LinkedWorktree | null {
  for (let at = folder; ; ) {
    const repository = repositoryAround(at);
    if (repository === null || repository.linked !== null) return repository?.linked ?? null;
    if (dirname(repository.top) === repository.top) return null;
    at = dirname(repository.top);
  }
}

/** Returns the nearest workspace upwards. Throws when it was made in passing and another one is around it. */
function nearest(folder: string, isTrusted: (root: string) => boolean): string | null {
  const root = nextUpwards(folder);
  if (root === null) return null;
  // mutant: search-trust: if (!isTrusted(root)) throw → if (root === "") throw
  if (!isTrusted(root)) throw untrusted(root);
  // mutant: search-nested: === "in_passing" ? workspaceAround(root) : null; → === "init" ? null : null;
  const around = readRecord(root)?.made === "in_passing" ? workspaceAround(root) : null;
  if (around !== null) throw nested(root, around);
  return root;
}

/** Returns the workspace in which a folder lies; the folder itself does not count. */
export function workspaceAround(folder: string): string | null {
  return dirname(folder) === folder ? null : nextUpwards(dirname(folder));
}

function nextUpwards(folder: string): string | null {
  for (let at = folder; ; at = dirname(at)) {
    // mutant: search-upwards: if (isWorkspace(at)) → if (at === folder && isWorkspace(at))
    if (isWorkspace(at)) return at;
    if (dirname(at) === at) return null;
  }
}

/**
 * Whether the folder is a workspace; `.holdfast/` alone, as a deliverable has it, makes none. A record that cannot be read,
 * whatever is in its place, is still the one of this workspace: a search that went on would find another store.
 */
export function isWorkspace(folder: string): boolean {
  // mutant: config-marks: || isNamed(join(folder, CONFIG_FILE)); → ;
  return isNamed(recordPath(folder)) || isNamed(join(folder, CONFIG_FILE));
}

const memory = createShortMemory<boolean>();

/** Answers the same from what was seen within the last second. */
export function wasWorkspace(folder: string): boolean {
  return memory.recall(folder, () => isWorkspace(folder));
}

/** The top of the innermost repository that is not a submodule. */
function outermostOf(folder: string): string | null {
  const repository = repositoryAround(folder);
  if (repository === null) return null;
  return repository.isSubmodule ? outermostOf(dirname(repository.top)) : repository.top;
}

/**
 * Returns whether a workspace counts: its files belong to this user or to root, or not every user may write its folder. So
 * a record in `/tmp` that another user made decides nothing, nor does a link there to files of this user.
 */
function isTrustworthy(root: string): boolean {
  const user = process.geteuid?.();
  const folder = lookUp(root);
  if (user === undefined || folder === null || (folder.mode & 0o002) === 0) return true;
  return [join(root, HOME), recordPath(root), join(root, CONFIG_FILE)].every((path) =>
    // mutant: trust-of-links: [ownerOf(path), lookUp(path)?.uid] → [lookUp(path)?.uid]
    [ownerOf(path), lookUp(path)?.uid].every((owner) => owner === undefined || owner === user || owner === 0),
  );
}

/** Returns the owner of the file or link itself. */
function ownerOf(path: string): number | undefined {
  return lstatSync(path, { throwIfNoEntry: false })?.uid;
}

/** Throws `E_CONFIG` for a workspace that another user may have planted. */
export function assertTrustworthy(root: string): void {
  if (!isTrustworthy(root)) throw untrusted(root);
}

function untrusted(root: string): HoldfastError {
  return new HoldfastError("E_CONFIG", `another user made the workspace ${root}, in a folder that everyone may write`, {
    reason: "untrusted_workspace",
    details: { path: root },
    next: [`Give --root ${root} if you trust it, or make a workspace of your own with holdfast init.`],
  });
}

export function nested(root: string, around: string): HoldfastError {
  return new HoldfastError("E_CONFIG", `the workspace ${root} lies inside the workspace ${around}`, {
    reason: "nested_workspace",
    details: { path: root, around },
    next: [
      `Use ${around}, and remove ${join(root, HOME)} when nothing is held there.`,
      `Or keep both: holdfast init --nested --root ${root}`,
    ],
  });
}
