/**
 * The only conversion from a file path to a lock key: `path` is the workspace root, `path/src/api` a file or folder below
 * it. However a file is spelled (relative, through symlinks, with `..`) its key is the same, because the key is made from
 * the real path. A file that does not exist yet gets the key that it will have once it is created where the path leads now.
 * In a folder that takes `Foo` and `foo` for one name, both have the key of `foo`, before and after the file is there.
 *
 * A file name need not be UTF-8. So inside this file a path is a string of one character per byte (latin1), on which
 * node:path works; `bytesOf` and `textOf` convert it at the two borders.
 *
 * A path that does not fit into a key is cut to its deepest ancestor that does. A lock covers its subtree, so such files
 * share one lock.
 *
 * Not promised: two hard links or bind mounts of one file have two keys. A symlink and its target have one key only
 * until the link is changed to point elsewhere.
 */
import { createHash } from "node:crypto";
import { dirname, isAbsolute, join, resolve, sep } from "node:path";
import { HoldfastError, invalidArgument, ioError } from "../base/errors.js";
import { bytesOf, textOf } from "../files/name-spelling.js";
import { formsBelow, realPath, realPathOfExisting } from "../files/real-path.js";
import { type Key, MAX_KEY_BYTES, MAX_SEGMENT_BYTES, MAX_SEGMENTS, parseKey } from "../lock/key.js";
import { isFileKey, PATH_TREE } from "../lock/reserved-kinds.js";
import { kindAt, lookUp } from "../platform/look-up.js";
import { type LinkedWorktree, linkedWorktreesOf, repositoryAround } from "./workspace/repository.js";
import { assertTrustworthy, mainFolderOf, wasWorkspace } from "./workspace/search.js";
import { createShortMemory } from "./workspace/short-memory.js";
import { recentRecord } from "./workspace/workspace-record.js";

const KEPT_BYTES = 80;
const HASH_DIGITS = 32;

/**
 * Returns the key of `path`, taken relative to `root` when it is not absolute. Throws `E_INVALID_ARGUMENT` (field `path`)
 * when it leads out of the workspace or round in circles, `E_CONFIG` when it is a file of another workspace, `E_IO`.
 */
export function pathKey(root: string, path: string | Buffer): Key {
  const { given, base, real, key, owner } = locate(root, path);
  if (key !== null) return key;
  if (owner !== null) throw ofOtherWorkspace(shown(given), owner);
  throw invalidArgument(
    "path",
    `${shown(given)} is ${shown(real)}, outside the workspace root ${shown(base)}`,
    "Name a path inside the workspace, or open the workspace that contains it.",
  );
}

/** Returns the same, or null for a file that is not of this workspace. */
export function pathKeyInside(root: string, path: string | Buffer): Key | null {
  return locate(root, path).key;
}

/** Whether the root is this path, or lies below it. */
export function isAroundRoot(root: string, path: string | Buffer): boolean {
  const { base, real } = locate(root, path);
  return isBelow(real, base);
}

/**
 * Returns the root of the workspace that a file belongs to, whichever program writes it; null for a file of none. Throws
 * `E_CONFIG` for a workspace that another user may have planted, `E_IO`.
 */
export function workspaceOfFile(folder: string, path: string): string | null {
  const real = realPath(isAbsolute(path) ? textOf(path) : join(textOf(folder), textOf(path)));
  const { at } = mainFolderOf(folderAt(real));
  const root = nearestWorkspace(at);
  // mutant: trust-of-files: if (root !== null) assert → if (root === "") assert
  if (root !== null) assertTrustworthy(root);
  return root;
}

/** Returns the keys of the linked worktrees that lie below a folder, each as a whole. */
export function worktreeKeysBelow(root: string, path: string): readonly Key[] {
  const { real } = locate(root, path);
  const commonDir = repositoryAround(mainFolderOf(folderAt(real)).at)?.commonDir;
  if (commonDir === undefined || commonDir === null) return [];
  return linkedWorktreesOf(commonDir)
    .filter(({ top }) => isBelow(real, textOf(top)) && lookUp(top) !== null)
    .flatMap(({ top }) => pathKeyInside(root, top) ?? []);
}

/**
 * Returns the tree of a file key whose linked worktree is gone: git has forgotten it, or its folder is not there. Null where
 * it is there, and where that cannot be told: for a worktree in a worktree, and for files of another workspace.
 */
export function goneWorktreeOf(root: string, key: string): string | null {
  const [tree = "", ...segments] = key.split("/");
  const record = recentRecord(root);
  const scopes = tree.split("@").slice(1);
  if (record?.store.isFirst === false && scopes.pop() !== record.id) return null;
  const [name, ...more] = scopes;
  if (!isFileKey(tree) || name === undefined || more.length > 0) return null;
  const commonDir = repositoryAround(folderAt([root, ...segments.map(decodeSegment)].join(sep)))?.commonDir;
  if (commonDir === undefined || commonDir === null) return null;
  const found = linkedWorktreesOf(commonDir).find((each) => scopeOf(each.name) === name);
  // mutant: gone-worktree-folder: if (found !== undefined) return lookUp(found.top) === null ? tree : null; → if (found !== undefined) return null;
  if (found !== undefined) return lookUp(found.top) === null ? tree : null;
  return WORKSPACE_ID.test(name) ? null : tree;
}

/** A further workspace of the store is named by its id, which no repository here knows. */
const WORKSPACE_ID = /^[0-9a-f]{10}$/;

/** A file that a key names, and the folder up to which its tree reaches: the root, or the top of a linked worktree. */
export interface NamedFile {
  readonly path: string;
  readonly top: string;
}

/** Returns the file that a key names; null for a key of no file, of a worktree that is gone, and for one that was cut. */
export function fileOfKey(root: string, key: Key): NamedFile | null {
  const [tree = "", ...segments] = key.split("/");
  if (!isFileKey(tree) || segments.some((segment) => segment.includes("%~"))) return null;
  const path = shown([textOf(root), ...segments.map(decodeSegment)].join(sep));
  if (tree === PATH_TREE || treeOfFiles(root, []) === tree) return { path, top: root };
  const commonDir = repositoryAround(path)?.commonDir;
  const linked = commonDir === undefined || commonDir === null ? [] : linkedWorktreesOf(commonDir);
  const worktree = linked.find((each) => isBelow(each.main, path) && treeOfFiles(root, [each]) === tree);
  return worktree === undefined ? null : { path: worktree.top + path.slice(worktree.main.length), top: worktree.top };
}

/** All paths in the answer are latin1 texts. */
function locate(root: string, path: string | Buffer) {
  const given = textOf(path);
  if (given === "" || given.includes("\0")) throw invalidArgument("path", "is empty or contains a NUL byte");
  const start = realRoot(root);
  const base = textOf(mainFolderOf(shown(start)).at);
  const real = realPath(isAbsolute(given) ? given : start + sep + given);
  const { at, worktrees } = mainFolderOf(folderAt(real));
  const standsFor = (path: string): string =>
    worktrees.reduce((at, { top, main }) => textOf(main) + at.slice(textOf(top).length), path);
  const found = { given, base, real, owner: innerWorkspace(at, shown(base)) };
  if (!isBelow(base, standsFor(real)) || found.owner !== null) return { ...found, key: null };
  // Each name is spelled as the folder in which it lies spells it: below the top of a worktree that is the worktree's.
  const top = worktrees[0] === undefined ? base : textOf(worktrees[0].top);
  const isBelowTop = isBelow(base, standsFor(top));
  const names = isBelowTop
    ? [...formsBelow(base, standsFor(top)), ...formsBelow(top, real)]
    : formsBelow(base, standsFor(real));
  return { ...found, key: fittingKey([treeOfFiles(shown(base), worktrees), ...names.map(encodeSegment)]) };
}

/** Returns the tree that holds the keys of these files: `path`, `path@WORKTREE`, and in a further workspace `path@ID`. */
function treeOfFiles(root: string, worktrees: readonly LinkedWorktree[]): string {
  const record = recentRecord(root);
  const names = worktrees.map(({ name }) => name);
  const scopes = record === null || record.store.isFirst !== false ? names : [...names, record.id];
  return [PATH_TREE, ...scopes.map(scopeOf)].join("@");
}

function scopeOf(name: string): string {
  return encodeSegment(textOf(name)).replaceAll("@", "%40");
}

/** Returns the innermost workspace that lies between the root and a folder, the root left out. */
function innerWorkspace(folder: string, root: string): string | null {
  for (let at = folder; at !== root && dirname(at) !== at; at = dirname(at)) if (wasWorkspace(at)) return at;
  return null;
}

function nearestWorkspace(folder: string): string | null {
  for (let at = folder; ; at = dirname(at)) {
    if (wasWorkspace(at)) return at;
    if (dirname(at) === at) return null;
  }
}

/**
 * Returns the folder that decides to which workspace a path belongs: itself, or its nearest ancestor that is there. What is
 * not there yet may be a repository, a worktree or a workspace in a moment, so nothing about it is kept.
 */
function folderAt(real: string): string {
  for (let at = real; ; at = dirname(at)) {
    const path = shown(at);
    const kind = kinds.recall(path, () => kindAt(path) ?? undefined);
    if (kind === "folder" || dirname(at) === at) return path;
  }
}

const kinds = createShortMemory<"file" | "folder" | undefined>();

function isBelow(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

export function ofOtherWorkspace(path: string, owner: string): HoldfastError {
  return new HoldfastError("E_CONFIG", `${path} is a file of the workspace ${owner}`, {
    reason: "other_workspace",
    details: { path, root: owner },
    next: [`Lock it there: open the workspace with root ${owner}, or give --root ${owner}.`],
  });
}

function realRoot(root: string): string {
  try {
    return realPathOfExisting(textOf(resolve(root)));
  } catch (error) {
    throw ioError(error, "resolve the workspace root", root);
  }
}

/**
 * Also `:` and `%` are encoded, so that no file name looks like `kind:id` or like an encoding. An encoding that is too
 * long keeps its beginning and gets a hash behind `%~`, which no other encoding contains.
 */
function encodeSegment(name: string): string {
  const encoded = name.replace(/[^A-Za-z0-9._\-@+=,~]/g, (byte) => {
    return `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
  });
  if (encoded.length <= MAX_SEGMENT_BYTES) return encoded;
  const kept = encoded.slice(0, KEPT_BYTES).replace(/%[0-9A-F]?$/, "");
  return `${kept}%~${createHash("sha256").update(encoded).digest("hex").slice(0, HASH_DIGITS)}`;
}

export function decodeSegment(segment: string): string {
  return segment.replace(/%([0-9A-F]{2})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
}

/** The longest beginning that is a key. */
export function fittingKey(segments: readonly string[]): Key {
  let key = "";
  for (const [index, segment] of segments.entries()) {
    const longer = index === 0 ? segment : `${key}/${segment}`;
    if (index === MAX_SEGMENTS || longer.length > MAX_KEY_BYTES) break;
    key = longer;
  }
  return parseKey(key, "path");
}

function shown(text: string): string {
  return bytesOf(text).toString();
}
