/**
 * Makes files and folders with the rights of the folder that they lie in, whatever the umask of the process, so that all
 * who may use a store or a workspace can use everything in it: `makeHome` makes its folder, and the other functions make
 * what lies inside.
 *
 *   the folder of a store      no rights for others; rights for the group where the folder around it lets the group write
 *   a folder inside            the rights and the group of the folder around it
 *   a file inside              the read and write rights and the group of its folder
 *   made by root               the owner of the folder around it as well
 *
 * A folder that everyone may write and where each user owns what it makes, as /tmp, gives rights to the owner only. Where
 * the group of the folder is not one of the process's own, the group gets no rights.
 *
 * What processes of several users may be about to open (`openOrMake`, `makeFolder`) is made under another name, and gets its
 * own when it has its rights: no process meets it before. Where only one user has rights, it is made under its own name. A crash leaves the other name, `.<random>.NEW`, which no process
 * looks for.
 *
 * It does not promise anything about access control lists, and it leaves alone what exists already.
 */
import { randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  rmdirSync,
  type Stats,
  statSync,
  unlinkSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { assertNoLink, isThere } from "./look-up.js";

/** Ends the names of what is being made. In upper case, as no key is when it names a folder. */
export const UNFINISHED = ".NEW";

const GROUP = 0o070;
const GROUP_WRITES = 0o020;
const SET_GROUP = 0o2000;
const STICKY_FOR_ALL = 0o1002;
export const READ_AND_WRITE = 0o666;
/** The mode of a file that nothing writes again. */
export const READ_ONLY = 0o444;
const ANY = 0o777;

type Rights = Pick<Stats, "mode" | "uid" | "gid">;

/** Makes the folder of a store, or of a workspace's own files, and the missing ones above. Returns the first one made. */
export function makeHome(path: string): string | undefined {
  // mutant: home-for-others: === 0 ? 0o700 : → === 0 ? 0o755 :
  return makeMissing(path, (around) => ((modeIn(around) & GROUP_WRITES) === 0 ? 0o700 : 0o770 | SET_GROUP));
}

/** Makes a folder inside a store, and the missing ones above. Returns the first one made. */
export function makeFolder(path: string): string | undefined {
  return makeMissing(path, (around) => modeIn(around) & (ANY | SET_GROUP));
}

/** Creates a file that is not there yet, with those rights of its folder that `mask` has. */
export function createFile(path: string, flags: "wx" | "wx+" = "wx", mask = READ_AND_WRITE): number {
  return openWithRights(path, flags, statSync(dirname(path)), mask);
}

/** The same in the place of a file that a crash has left there. */
export function createFresh(path: string, flags: "wx" | "wx+" = "wx", mask = READ_AND_WRITE): number {
  try {
    return createFile(path, flags, mask);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    // mutant: documents-fresh-file: unlinkSync(path); → return openSync(path, "w");
    unlinkSync(path);
    return createFile(path, flags, mask);
  }
}

/** Opens a file for reading and writing, and makes it, empty, where it is missing. Many may do so at once. */
export function openOrMake(path: string): number {
  for (;;) {
    try {
      return openSync(path, "r+");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
    try {
      const around = statSync(dirname(path));
      if (!isShared(around, modeIn(around))) return openWithRights(path, "wx+", around);
      makeUnderOtherName(path, around);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      assertNoLink(path); // Neither there nor can it be made.
    }
  }
}

function makeUnderOtherName(path: string, around: Rights): void {
  const fresh = freshName(path);
  closeSync(openWithRights(fresh, "wx", around));
  try {
    linkSync(fresh, path);
  } finally {
    unlinkSync(fresh);
  }
}

/** Gives an open file those rights of its folder that `mask` has. */
export function takeRights(fd: number, path: string, mask: number): void {
  const around = statSync(dirname(path));
  giveRights(fd, modeIn(around) & mask, around);
}

/** Opens a file with these flags, and gives it the rights of a folder if it is new. */
export function openWithRights(path: string, flags: string, around: Rights, mask = READ_AND_WRITE): number {
  const mode = modeIn(around) & mask;
  const fd = openSync(path, flags, mode);
  giveRights(fd, mode, around);
  return fd;
}

function makeMissing(path: string, modeOf: (around: Rights) => number): string | undefined {
  if (isThere(path)) return undefined;
  const first = makeMissing(dirname(path), modeOf);
  makeOne(path, modeOf);
  return first ?? path;
}

function makeOne(path: string, modeOf: (around: Rights) => number): void {
  const around = statSync(dirname(path));
  const mode = modeOf(around);
  if (!isShared(around, mode)) {
    mkdirSync(path, { mode, recursive: true });
    return;
  }
  const fresh = freshName(path);
  mkdirSync(fresh, mode & ANY);
  try {
    const fd = openSync(fresh, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    try {
      giveRights(fd, mode, around);
    } finally {
      closeSync(fd);
    }
    renameSync(fresh, path);
  } catch (error) {
    rmdirSync(fresh);
    if (!isThere(path)) throw error; // Another process has made it meanwhile.
  }
}

/** Whether others than the process's own user have rights in there, which a new name may lack for a moment. */
function isShared({ uid }: Rights, mode: number): boolean {
  return (mode & 0o077) !== 0 || (isRoot() && uid !== 0);
}

function isRoot(): boolean {
  return process.geteuid?.() === 0;
}

/** By descriptor, so that a link that takes the place of the name cannot lead root elsewhere. */
function giveRights(fd: number, mode: number, around: Rights): void {
  // mutant: owner-of-folder: || (isRoot() && around.uid !== 0) → && around.uid < 0
  const isOthers = around.gid !== process.getegid?.() || (isRoot() && around.uid !== 0);
  const isIn = !isOthers || succeeds(() => fchownSync(fd, isRoot() ? around.uid : -1, around.gid)) || isRoot();
  // mutant: rights-of-folder: succeeds(() => fchmodSync(fd, isIn ? mode : mode & ~(GROUP | SET_GROUP))); → void [isIn, fchmodSync, GROUP];
  succeeds(() => fchmodSync(fd, isIn ? mode : mode & ~(GROUP | SET_GROUP)));
}

/** Where the system refuses it, as for a file of another user, the file keeps the rights it has. */
function succeeds(action: () => void): boolean {
  try {
    action();
    return true;
  } catch {
    return false;
  }
}

function modeIn({ mode }: Rights): number {
  return (mode & STICKY_FOR_ALL) === STICKY_FOR_ALL ? mode & 0o700 : mode;
}

function freshName(path: string): string {
  return join(dirname(path), `.${randomBytes(6).toString("hex")}${UNFINISHED}`);
}
