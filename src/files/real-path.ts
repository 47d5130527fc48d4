/**
 * Finds the one path of a file, however it is spelled: with every symlink resolved, also for a file that is not there
 * yet, and with each name spelled as its folder spells it. A path is a string of one character per byte here, as in
 * name-spelling.ts; `realTextPath` is for callers that know names as text only.
 *
 * On macOS and Windows the system returns the names as they are on the disk. On Linux it repeats those it was given, so
 * there each name in a folder that folds names is read from that folder.
 *
 * Not promised: two hard links or bind mounts of one file have two paths. A symlink and its target have one only until
 * the link is changed to point elsewhere.
 */
import { lstatSync, readdirSync, readlinkSync, realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join, parse, resolve, sep } from "node:path";
import { invalidArgument, ioError } from "../base/errors.js";
import { foldingFolders } from "./folding-folders.js";
import { bytesOf, formOf, textOf } from "./name-spelling.js";

/** realpath(3) returns the names as they are on the disk. */
const IS_SPELLED = process.platform !== "linux";
const SEPARATORS = sep === "\\" ? /[\\/]/ : /\//;
/** As many dangling links as Linux follows before it calls the path a loop. */
const MAX_LINKS = 40;

/**
 * What realpath(3) says; for a path that is not all there, what it would say once the missing parts are made. From the
 * deepest part that is there on, that is found component by component: `current` is always real, so its textual parent is
 * its true one, and a dangling link gives way to the path it holds. `E_INVALID_ARGUMENT` (field `path`) for a loop, `E_IO`
 * when the system will not resolve it.
 */
export function realPath(path: string): string {
  const whole = native(path);
  if (whole !== undefined) return whole;
  let { current, pending } = deepestReal(path);
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

/** The longest beginning of the path that is there, and the names behind it, last first, so that the next one is popped. */
function deepestReal(path: string) {
  const pending: string[] = [];
  for (let rest = path; ; rest = dirname(rest)) {
    pending.push(basename(rest));
    const current = native(dirname(rest));
    if (current !== undefined) return { current, pending };
    if (dirname(rest) === rest) return { current: rest, pending };
  }
}

/** The same for a path that is there. Throws what realpath(3) does. */
export function realPathOfExisting(path: string): string {
  const real = textOf(realpathSync.native(bytesOf(path), "buffer"));
  // mutant: path-on-disk: foldingFolders.isPlain(dirname(real), basename(real)) ? real : onDisk(real); → real !== "" ? real : onDisk(real);
  return IS_SPELLED || foldingFolders.isPlain(dirname(real), basename(real)) ? real : onDisk(real);
}

/** The same for a path in text, relative to the current folder. A name that is not UTF-8 is not found by what it returns. */
export function realTextPath(path: string): string {
  return bytesOf(realPath(textOf(resolve(path)))).toString();
}

/** The same for a path in text that is there. Throws what realpath(3) does. */
export function existingTextPath(path: string): string {
  return bytesOf(realPathOfExisting(textOf(resolve(path)))).toString();
}

/**
 * The names on the way from a real folder to a real path below it, each in the form that all its spellings have. A name
 * has one form before and after its file comes to be, so the form does not depend on what is on the disk.
 */
export function formsBelow(folder: string, path: string): string[] {
  const names = path.slice(folder.length).split(sep).filter(Boolean);
  // mutant: path-folds: if (foldingFolders.isPlain( → if (path !== "" || foldingFolders.isPlain(
  if (foldingFolders.isPlain(dirname(path), basename(path))) return names.map((name) => formOf(name, false));
  let current = folder;
  return names.map((name) => {
    const form = formOf(name, foldingFolders.folds(current, name));
    current = join(current, name);
    return form;
  });
}

/** Last first, so that the next one is popped. */
function componentsOf(path: string, root: string): string[] {
  return path.slice(root.length).split(SEPARATORS).reverse();
}

/** `undefined` when something on the way does not exist. */
function native(path: string): string | undefined {
  try {
    return realPathOfExisting(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    if (code === "ELOOP") throw loop(path);
    if (code === "ENAMETOOLONG") throw invalidArgument("path", `${shown(path)} is longer than the system allows`);
    throw ioError(error, "resolve", shown(path));
  }
}

/** Every name as its folder has it. */
function onDisk(real: string): string {
  let current = parse(real).root;
  for (const name of real.split(sep).filter(Boolean)) {
    const spelled = foldingFolders.folds(current, name) ? nameOnDisk(current, name) : name;
    current = join(current, spelled);
  }
  return current;
}

/** Several names may have its form: then the one that is the same file. */
function nameOnDisk(folder: string, name: string): string {
  const form = formOf(name, true);
  const names = namesIn(folder).filter((each) => formOf(each, true) === form);
  const [only] = names;
  if (names.length === 1 && only !== undefined) return only;
  const own = inode(join(folder, name));
  return names.find((each) => inode(join(folder, each)) === own) ?? name;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(bytesOf(folder), "latin1");
  } catch {
    return []; // They are not shown: the name stays as it was given, and its form is the same.
  }
}

function inode(path: string): bigint | undefined {
  return lstatSync(bytesOf(path), { bigint: true, throwIfNoEntry: false })?.ino;
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

function shown(text: string): string {
  return bytesOf(text).toString();
}
