/**
 * The folder in which one user keeps lease tokens and registered runs:
 *
 *   <root>/.holdfast/tokens/<uid>/             of a workspace; mode 0700, made by that user
 *   <state>/holdfast/grants/<store>/           of a store without a workspace; <state> is XDG_STATE_HOME or ~/.local/state
 *
 * The first lies in the workspace, so that a command in a sandbox which may write only there, the hook outside of the
 * sandbox and a command with another HOME meet in one place. A folder of this name that another user made, or that
 * others may enter, is not used: it holds nothing, and a token cannot be kept there.
 *
 * `tokens/` itself takes the rights and, when root makes it, the owner of `.holdfast/`, so that each user of a shared
 * workspace can make a folder in it.
 */
import { hash } from "node:crypto";
import { chmodSync, chownSync, lstatSync, mkdirSync, statSync } from "node:fs";
import { homedir, userInfo } from "node:os";
import { isAbsolute, join, relative, sep } from "node:path";
import { HoldfastError, ioError } from "../../base/errors.js";
import { HOME } from "../../base/home-folder.js";
import { realTextPath } from "../../files/real-path.js";

export interface TokenFolder {
  /** The workspace; null where the tokens lie in the state folder. */
  readonly root: string | null;
  readonly path: string;
  /** Names the store in the files of the folder: relative to the workspace where the store lies in it. */
  readonly store: string;
}

/** Names the folder for a store. Nothing is made or looked at. `E_CONFIG` for a user without a home, without a workspace. */
export function tokenFolder(root: string | null, env: NodeJS.ProcessEnv, url: string): TokenFolder {
  const store = realStore(url);
  if (root === null) return { root, path: join(stateFolder(env), "holdfast", "grants", digest(store)), store };
  return { root, path: runFolder(root), store: relativeTo(root, store) };
}

/** Returns the URL with the real path of the store's file: a root that is named through a symlink has the same store. */
function realStore(url: string): string {
  const [, scheme, path] = /^(sqlite|file):(.+)$/s.exec(url) ?? [];
  // mutant: token-store-path: `${scheme}:${realTextPath(path)}` → url + (path === realTextPath("") ? path : "")
  return path === undefined ? url : `${scheme}:${realTextPath(path)}`;
}

/** The folder of this user in a workspace. */
export function runFolder(root: string): string {
  return join(root, HOME, "tokens", userId());
}

/** Makes the folder. `E_IO` when it cannot be made, and when it is not this user's alone. */
export function makeTokenFolder({ root, path }: Pick<TokenFolder, "root" | "path">): void {
  try {
    if (root !== null) makeShared(join(root, HOME));
    mkdirSync(path, { recursive: root === null, mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw ioError(error, "keep the lease token in", path);
  }
  if (isOwn(path)) return;
  throw new HoldfastError("E_IO", `${path} belongs to another user, or others may enter it: no token is kept there`, {
    details: { path },
    next: [`Remove it, or give it back to its user: chown ${userId()} ${path} && chmod 700 ${path}`],
  });
}

/** Whether the folder is there, was made by this user, and is closed to others. */
export function isOwn(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined || !found.isDirectory()) return false;
  // mutant: token-folder-of-another: found.uid === process.getuid() && (found.mode & 0o077) === 0 → true
  return process.getuid === undefined || (found.uid === process.getuid() && (found.mode & 0o077) === 0);
}

/** Names a store, a key or an owner in the name of a file. */
export function digest(text: string): string {
  return hash("sha256", text, "hex").slice(0, 16);
}

function makeShared(home: string): void {
  const path = join(home, "tokens");
  try {
    mkdirSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return;
    throw error;
  }
  const { mode, uid, gid } = statSync(home);
  chmodSync(path, mode & 0o7777);
  if (process.getuid?.() === 0) chownSync(path, uid, gid);
}

function relativeTo(root: string, store: string): string {
  const [, scheme = "", path = ""] = /^(sqlite|file):(.+)$/s.exec(store) ?? [];
  const below = scheme === "" ? "" : relative(root, path);
  return below === "" || below.startsWith(`..${sep}`) || isAbsolute(below) ? store : `${scheme}:${below}`;
}

function userId(): string {
  return String(process.getuid?.() ?? userInfo().username);
}

function stateFolder(env: NodeJS.ProcessEnv): string {
  const said = env.XDG_STATE_HOME;
  if (said !== undefined && isAbsolute(said)) return said;
  const home = [homedir, () => userInfo().homedir].map(orEmpty).find(isAbsolute);
  if (home !== undefined) return join(home, ".local", "state");
  throw new HoldfastError(
    "E_CONFIG",
    "there is no place for your lease tokens: HOME is not set, and you have no home",
    {
      reason: "invalid_value",
      details: { field: "XDG_STATE_HOME" },
      next: ["Set XDG_STATE_HOME to a folder that is yours alone."],
    },
  );
}

/** The system throws for a user that it does not know, as there are in containers. */
function orEmpty(query: () => string): string {
  try {
    return query();
  } catch {
    return "";
  }
}
