/**
 * The only conversion from a file path to a lock key: `path` is the workspace root, `path/src/api` a file or folder below
 * it. However a file is spelled (relative, through symlinks, with `..`) its key is the same, because the key is made from
 * the real path. A file that does not exist yet gets the key that it will have once it is created where the path leads now.
 *
 * A file name need not be UTF-8. So inside this file a path is a string of one character per byte (latin1), on which
 * node:path works; `bytesOf` and `textOf` convert it at the two borders.
 *
 * A path that does not fit into a key is cut to its deepest ancestor that does. A lock covers its subtree, so such files
 * share one lock.
 *
 * Not promised: two hard links or bind mounts of one file have two keys, and so have two spellings that differ in case
 * of a file that does not exist yet on a file system that ignores case. A symlink and its target have one key only
 * until the link is changed to point elsewhere.
 */
import { createHash } from "node:crypto";
import { readlinkSync, realpathSync } from "node:fs";
import { dirname, isAbsolute, join, parse, resolve, sep } from "node:path";
import { invalidArgument, ioError } from "../base/errors.js";
import { type Key, MAX_KEY_BYTES, MAX_SEGMENT_BYTES, MAX_SEGMENTS, parseKey } from "../lock/key.js";
import { PATH_TREE } from "../lock/reserved-kinds.js";

const SEPARATORS = sep === "\\" ? /[\\/]/ : /\//;
/** As many dangling links as Linux follows before it calls the path a loop. */
const MAX_LINKS = 40;
const KEPT_BYTES = 80;
const HASH_DIGITS = 32;

/**
 * The key of `path`, taken relative to `root` when it is not absolute. Throws `E_INVALID_ARGUMENT` (field `path`) when it
 * leads out of the root or round in circles, `E_IO` when the system will not resolve it.
 */
export function pathKey(root: string, path: string | Buffer): Key {
  const { given, base, real, key } = locate(root, path);
  if (key !== null) return key;
  throw invalidArgument(
    "path",
    `${shown(given)} is ${shown(real)}, outside the workspace root ${shown(base)}`,
    "Name a path inside the workspace, or open the workspace that contains it.",
  );
}

/** The same, with null for a path that leads out of the root. */
export function pathKeyInside(root: string, path: string | Buffer): Key | null {
  return locate(root, path).key;
}

/** Whether the root is this path, or lies below it. */
export function isAroundRoot(root: string, path: string | Buffer): boolean {
  const { base, real } = locate(root, path);
  return base === real || base.startsWith(real.endsWith(sep) ? real : real + sep);
}

function locate(root: string, path: string | Buffer) {
  const given = textOf(path);
  if (given === "" || given.includes("\0")) throw invalidArgument("path", "is empty or contains a NUL byte");
  const base = realRoot(root);
  const real = realPath(isAbsolute(given) ? given : base + sep + given);
  const inside = base.endsWith(sep) ? base : base + sep;
  if (real !== base && !real.startsWith(inside)) return { given, base, real, key: null };
  const segments = real.slice(inside.length).split(sep).filter(Boolean).map(encodeSegment);
  return { given, base, real, key: fittingKey([PATH_TREE, ...segments]) };
}

function realRoot(root: string): string {
  try {
    return textOf(realpathSync.native(resolve(root), "buffer"));
  } catch (error) {
    throw ioError(error, "resolve the workspace root", root);
  }
}

/**
 * What realpath(3) says; for a path that is not all there, what it would say once the missing parts are made. That is
 * found component by component: `current` is always real, so its textual parent is its true one, and a dangling link
 * gives way to the path it holds.
 */
function realPath(path: string): string {
  const whole = native(path);
  if (whole !== undefined) return whole;
  let current = parse(path).root;
  const pending = componentsOf(path, current);
  let links = 0;
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (name === "" || name === ".") continue;
    if (name === "..") {
      current = dirname(current);
      continue;
    }
    const next = join(current, name);
    const real = native(next);
    const target = real === undefined ? danglingTarget(next) : undefined;
    if (target === undefined) {
      current = real ?? next;
      continue;
    }
    if (++links > MAX_LINKS) throw loop(path);
    if (isAbsolute(target)) current = parse(target).root;
    pending.push(...componentsOf(target, parse(target).root));
  }
  return current;
}

/** Last first, so that the next one is popped. */
function componentsOf(path: string, root: string): string[] {
  return path.slice(root.length).split(SEPARATORS).reverse();
}

/** `undefined` when something on the way does not exist. */
function native(path: string): string | undefined {
  try {
    return textOf(realpathSync.native(bytesOf(path), "buffer"));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    if (code === "ELOOP") throw loop(path);
    if (code === "ENAMETOOLONG") throw invalidArgument("path", `${shown(path)} is longer than the system allows`);
    throw ioError(error, "resolve", shown(path));
  }
}

function danglingTarget(path: string): string | undefined {
  try {
    return textOf(readlinkSync(bytesOf(path), "buffer"));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // EINVAL (on Windows UNKNOWN): it is there and no link, so it appeared just now, or is no directory.
    if (code === "ENOENT" || code === "ENOTDIR" || code === "EINVAL" || code === "UNKNOWN") return undefined;
    throw ioError(error, "read the link", shown(path));
  }
}

function loop(path: string): Error {
  return invalidArgument("path", `${shown(path)} is a loop of symbolic links`, "Remove one of the links.");
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

function textOf(path: string | Buffer): string {
  return (typeof path === "string" ? Buffer.from(path) : path).toString("latin1");
}

function bytesOf(text: string): Buffer {
  return Buffer.from(text, "latin1");
}

function shown(text: string): string {
  return bytesOf(text).toString();
}
