/**
 * Checks that a key that was typed is the key of the file that it names. A client calls this before it requests the key of
 * a file.
 *
 * A key that was right stays right for a second, so one that is acquired again and again costs one lookup in memory. The
 * same holds for a folder: below one whose key was right, a plain name costs one system call (`isRightBelow`).
 *
 * A crash leaves nothing. Not promised: a folder that became a symlink or a repository within the last second may be missed.
 */
import { lstatSync } from "node:fs";
import { sep } from "node:path";
import { invalidArgument, ioError } from "../base/errors.js";
import { foldingFolders } from "../files/folding-folders.js";
import { textOf } from "../files/name-spelling.js";
import { realPath } from "../files/real-path.js";
import { type Key, parseKey } from "../lock/key.js";
import { PATH_TREE } from "../lock/reserved-kinds.js";
import { isAbsence, kindAt } from "../platform/look-up.js";
import { decodeSegment, fileOfKey, pathKey, pathKeyInside } from "./path-key.js";
import { createShortMemory } from "./workspace/short-memory.js";

/**
 * Throws when a key that was typed is not the key of the file that it names: a file of an inner workspace or of a linked
 * worktree, or another spelling. A key that was cut, because the path is too long, is not looked at.
 */
export function assertKeyOfFile(root: string, key: Key): void {
  assertions.recall(`${root} ${key}`, () => {
    if (isRightBelow(root, key)) return null;
    const [tree, ...segments] = key.split("/");
    if (segments.some((segment) => segment.includes("%~"))) return null;
    const inMain = Buffer.from([root, ...segments.map(decodeSegment)].join(sep), "latin1");
    // mutant: key-of-worktree-file: : fileOfKey(root, key)?.path → : undefined
    const path = tree === PATH_TREE ? inMain : fileOfKey(root, key)?.path;
    if (path === undefined) return null;
    const own = pathKey(root, path);
    if (own !== key) throw invalidArgument("key", `${key} is not the key of ${path}: that is ${own}`, `Use ${own}.`);
    return null;
  });
}

const assertions = createShortMemory<null>();

/**
 * Returns whether a key ends in a plain name below a folder whose key is right: the name of a file or of nothing yet, which
 * no encoding changes. A folder or a symlink may lead elsewhere, so they are resolved.
 */
function isRightBelow(root: string, key: Key): boolean {
  const at = key.lastIndexOf("/");
  const name = key.slice(at + 1);
  if (at === -1 || !PLAIN.test(name)) return false;
  const above = key.slice(0, at);
  const folder = folders.recall(`${root} ${above}`, () => plainFolderOf(root, parseKey(above)));
  if (folder === undefined) return false;
  const path = `${folder}${sep}${name}`;
  try {
    const found = lstatSync(path, { throwIfNoEntry: false });
    // mutant: typed-link: return found === undefined || found.isFile(); → return found === undefined || found.isFile() || found.isSymbolicLink();
    return found === undefined || found.isFile();
  } catch (error) {
    if (isAbsence(error)) return false;
    throw ioError(error, "look at", path);
  }
}

/** Characters that stand for themselves in a key. */
const PLAIN = /^[A-Za-z0-9._\-@+=,~]+$/;

const folders = createShortMemory<string | undefined>();

/** Returns the path of a folder that the key names, in a file system that keeps names apart; undefined for any other key. */
function plainFolderOf(root: string, key: Key): string | undefined {
  const path = fileOfKey(root, key)?.path;
  if (path === undefined || pathKeyInside(root, path) !== key || kindAt(path) !== "folder") return undefined;
  const text = textOf(path);
  // mutant: typed-folding: return realPath(text) === text && foldingFolders.isPlain(text) ? path : undefined; → return realPath(text) === text ? path : undefined;
  return realPath(text) === text && foldingFolders.isPlain(text) ? path : undefined;
}
