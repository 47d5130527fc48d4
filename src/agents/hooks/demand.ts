/**
 * Finds what a call of a hook needs: for each workspace whose files it writes, the keys of the files, and the working trees
 * that it changes as a whole. A file is checked against the workspace that it belongs to, wherever the agent works. A file
 * of no workspace is free.
 *
 * A command that changes a working tree as a whole, such as `git checkout`, needs the tree of the folder that it runs in
 * and no other: work in a linked worktree does not stop it in the main one, wherever the worktree lies. Removing or moving
 * a folder needs the trees of the worktrees below it as well.
 */
import { lstatSync } from "node:fs";
import { resolve } from "node:path";
import { HoldfastError } from "../../base/errors.js";
import { HOME } from "../../base/home-folder.js";
import { isFolderLock } from "../../client/deliverable/folder-locks.js";
import { isAroundRoot, pathKey, pathKeyInside, workspaceOfFile, worktreeKeysBelow } from "../../client/path-key.js";
import { CONFIG_FILE } from "../../client/workspace/config.js";
import { repositoryAround } from "../../client/workspace/repository.js";
import { isWithin, type Key, treeOf } from "../../lock/key.js";
import type { HookCall } from "./call.js";
import { carriesHooks } from "./hook-carriers.js";
import { assertSparesHome } from "./swept-home.js";

export interface Demand {
  /** The workspace. */
  readonly root: string;
  readonly keys: readonly Key[];
  /** Trees in which no other owner may hold anything for the moment. */
  readonly trees: readonly Key[];
}

/** `root` is that of the agent's own workspace, null where it has none. Throws `E_FORBIDDEN` for what is not for agents. */
export function demandsOf({ intent, cwd }: HookCall, root: string | null, started: string): readonly Demand[] {
  if (intent.notForAgents !== null) throw notForAgents(`\`${intent.notForAgents}\``);
  const folder = cwd ?? started;
  const at = (path: string): string => resolve(folder, path);
  const wanted = new Wanted(root);
  for (const path of intent.files.map(at)) addFile(wanted, path);
  for (const path of intent.removed.map(at)) addRemoved(wanted, path);
  for (const path of intent.somewhereIn.map(at)) wanted.addAround(path);
  for (const { command, folder: runsIn, sweeps } of intent.wholeTrees) {
    const from = runsIn === null ? folder : at(runsIn);
    if (sweeps !== null) assertSparesHome(command, from, sweeps, root);
    wanted.addTree(from);
  }
  return wanted.demands();
}

class Wanted {
  readonly #own: string | null;
  readonly #byRoot = new Map<string, { readonly keys: Set<Key>; readonly trees: Set<Key> }>();

  constructor(own: string | null) {
    this.#own = own;
  }

  /** The workspace of a file and its key there; null for a file of none. */
  keyOf(path: string): { readonly root: string; readonly key: Key } | null {
    const ownKey = this.#own === null ? null : pathKeyInside(this.#own, path);
    if (this.#own !== null && ownKey !== null) return { root: this.#own, key: ownKey };
    const root = workspaceOfFile("/", path);
    const key = root === null ? null : pathKeyInside(root, path);
    return root === null || key === null ? null : { root, key };
  }

  addKey(root: string, key: Key): void {
    // A tree as a whole is not held for long: an agent that names it changes files all over it.
    if (key === treeOf(key)) this.#of(root).trees.add(key);
    else this.#of(root).keys.add(key);
  }

  /** The working tree around a folder, as far as it belongs to a workspace. */
  addTree(folder: string): void {
    const top = repositoryAround(folder)?.top ?? folder;
    const found = this.keyOf(top);
    if (found !== null) this.#of(found.root).trees.add(found.key);
    else this.addAround(top);
  }

  /** A folder somewhere in which files are written: all of a workspace that lies in it. */
  addAround(folder: string): void {
    // mutant: hook-pattern-above: if (this.#own !== null && isAroundRoot( → if (this.#own === null && isAroundRoot(
    if (this.#own !== null && isAroundRoot(this.#own, folder))
      this.#of(this.#own).trees.add(pathKey(this.#own, this.#own));
  }

  demands(): readonly Demand[] {
    const roots = [...this.#byRoot.keys()].sort();
    return roots.map((root) => ({ root, keys: [...this.#of(root).keys], trees: [...this.#of(root).trees] }));
  }

  /** Whether the folder holds the agent's own workspace. */
  isAroundOwn(folder: string): boolean {
    return this.#own !== null && isAroundRoot(this.#own, folder);
  }

  #of(root: string) {
    const found = this.#byRoot.get(root) ?? { keys: new Set<Key>(), trees: new Set<Key>() };
    this.#byRoot.set(root, found);
    return found;
  }
}

function addFile(wanted: Wanted, path: string): void {
  const found = wanted.keyOf(path);
  if (found === null) return;
  const { root, key } = found;
  if (isOurs(key)) throw notForAgents(`writing ${key.slice(treeOf(key).length + 1)}`);
  // mutant: hook-lock-file: if (isFolderLock(path)) throw → if (path === "") throw
  if (isFolderLock(path)) throw notForAgents(`writing ${path}, the lock of a deliverable folder,`);
  // mutant: hook-carriers: if (carriesHooks(root, path)) throw → if (path === "") throw
  if (carriesHooks(root, path)) throw notForAgents(`writing ${path}, which holds the hooks,`);
  wanted.addKey(root, key);
}

function addRemoved(wanted: Wanted, path: string): void {
  // mutant: hook-around-removed: && !isLink(path)) → && isLink(path))
  if (wanted.isAroundOwn(path) && !isLink(path))
    throw notForAgents(`removing or moving ${path}, with the workspace in it,`);
  const found = wanted.keyOf(path);
  if (found === null) return;
  // mutant: hook-worktree-below: worktreeKeysBelow(found.root, path) → []
  for (const key of worktreeKeysBelow(found.root, path)) wanted.addKey(found.root, key);
}

/** Only the link would go. */
function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
}

/** Locks and policy are not an agent's to change by hand. */
function isOurs(key: Key): boolean {
  const tree = treeOf(key);
  return isWithin(key, `${tree}/${HOME}`) || key === `${tree}/${CONFIG_FILE}`;
}

function notForAgents(what: string): HoldfastError {
  return new HoldfastError("E_FORBIDDEN", `${what} is not for agents: it changes locks or policy`, {
    next: ["Ask a person to do it."],
  });
}
