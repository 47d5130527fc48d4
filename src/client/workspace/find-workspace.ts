/**
 * Finds where a command works: the workspace, the store and the owner. They come from the command line, else from the
 * environment, else from the configuration, else from a search: the nearest folder upwards with a `.holdfast/`.
 *
 * A search never makes a workspace. A command in the wrong folder that made its own would hold locks that no other process
 * sees.
 */
import { existsSync, statSync } from "node:fs";
import { hostname } from "node:os";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { HoldfastError, ioError } from "../../base/errors.js";
import { HOME } from "../../base/home-folder.js";
import { withoutPassword } from "../../base/without-password.js";
import { userName } from "../../platform/machine.js";
import type { HoldfastOptions } from "../open-holdfast.js";
import { parseOwner } from "../options.js";
import { type Checks, type Config, readConfig } from "./config.js";

/** Where a value comes from. */
type Source = "flag" | "environment" | "config" | "found" | "default";

/** `F`: the fields that features have in the configuration. */
export interface FoundWorkspace<F extends object = object> {
  /** Null when a store was named and there is no workspace around. */
  readonly root: string | null;
  readonly store: string;
  /** The store as it is shown: without a password. */
  readonly where: string;
  readonly owner: string;
  readonly config: Config & Partial<F>;
  readonly sources: { readonly root: Source | null; readonly store: Source; readonly owner: Source };
}

export interface Said {
  readonly root?: string | undefined;
  readonly store?: string | undefined;
  readonly owner?: string | undefined;
}

export interface Place {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
}

/** `E_CONFIG` when there is no workspace and no store was named, or one that only a process sees. */
export function findWorkspaceWith<F extends object>(
  said: Said,
  { cwd, env }: Place,
  checks: Checks<F>,
): FoundWorkspace<F> {
  const named = said.store ?? notEmpty(env.HOLDFAST_STORE);
  const at = rootOf(said, cwd, env, named !== undefined);
  const config: Config & Partial<F> = at === null ? {} : readConfig(at.root, checks);
  const store = requireShared(storeOf(named, cwd, at?.root ?? null, config));
  return {
    root: at?.root ?? null,
    store,
    where: withoutPassword(store),
    owner: ownerOf(said, env, config),
    config,
    sources: {
      root: at?.source ?? null,
      store: said.store ? "flag" : named ? "environment" : config.store ? "config" : "default",
      owner: said.owner ? "flag" : notEmpty(env.HOLDFAST_OWNER) ? "environment" : config.owner ? "config" : "default",
    },
  };
}

function ownerOf(said: Said, env: NodeJS.ProcessEnv, config: Config): string {
  const around = notEmpty(env.HOLDFAST_OWNER);
  if (said.owner === undefined && around !== undefined) return parseOwner(around, "HOLDFAST_OWNER");
  return parseOwner(said.owner ?? config.owner ?? `user:${userName()}@${hostname()}`);
}

/** What `openHoldfast` needs for this workspace. */
export function holdfastOptions({ store, owner, config }: FoundWorkspace): HoldfastOptions {
  const { store: _store, owner: _owner, ...rest } = config;
  const { $schema: _schema, ...options } = rest as typeof rest & { $schema?: unknown };
  return { ...options, store, owner };
}

/** The path of the file or folder that makes the store there, or null for a store that is not in the file system. */
export function storeMark(store: string): string | null {
  if (store.startsWith("sqlite:")) return store.slice("sqlite:".length);
  if (store.startsWith("file:")) return join(store.slice("file:".length), "store.json");
  return null;
}

function rootOf(said: Said, cwd: string, env: NodeJS.ProcessEnv, mayBeNone: boolean) {
  const text = said.root ?? notEmpty(env.HOLDFAST_ROOT);
  if (text !== undefined) {
    const root = resolve(cwd, text);
    if (!isWorkspace(root)) throw noWorkspace(`${root} is no workspace: it has no ${HOME}/`, said.root ?? text);
    return { root, source: said.root === undefined ? ("environment" as const) : ("flag" as const) };
  }
  for (let root = resolve(cwd); ; root = dirname(root)) {
    if (isWorkspace(root)) return { root, source: "found" as const };
    if (dirname(root) === root) break;
  }
  if (mayBeNone) return null;
  throw noWorkspace(`there is no workspace here: neither ${cwd} nor a folder above it has a ${HOME}/`, null);
}

/** A deliverable's folder keeps a `.holdfast/` of its own, and is no workspace for that. */
function isWorkspace(root: string): boolean {
  const home = join(root, HOME);
  if (!isFolder(home)) return false;
  if (existsSync(join(home, "workspace.json")) || existsSync(join(home, "holdfast.db"))) return true;
  return !existsSync(join(root, "_LOCK.json")) && !existsSync(join(root, "_LOCK.log.jsonl"));
}

/** `E_IO` where nobody may look. */
function isFolder(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOTDIR") return false;
    throw code === "EACCES" ? ioError(error, "look at", path) : error;
  }
}

function storeOf(named: string | undefined, cwd: string, root: string | null, config: Config): string {
  if (named !== undefined) return absolute(named, cwd);
  if (config.store !== undefined) return absolute(config.store, root ?? cwd);
  return `sqlite:${join(root ?? cwd, HOME, "holdfast.db")}`;
}

/** What a process keeps in its memory ends with it: a lock that a command took there would look taken, and be nobody's. */
function requireShared(store: string): string {
  // mutant: cli-memory-store: (!store.startsWith("memory:")) return store; → (store.length > 0) return store;
  if (!store.startsWith("memory:")) return store;
  throw new HoldfastError("E_CONFIG", `nobody else would see the locks in ${store}: it ends with the command`, {
    reason: "unsupported_store",
    details: { field: "store" },
    next: ["Use sqlite:PATH, file:DIR or postgres://…."],
  });
}

/** A relative path means one place, wherever the command is given. Without one, looking would find nothing held. */
function absolute(url: string, base: string): string {
  if (/^(sqlite|file):$/.test(url))
    throw new HoldfastError("E_CONFIG", `${url} needs a path`, {
      reason: "invalid_store_url",
      details: { field: "store" },
      next: [`Write ${url}PATH.`],
    });
  const [, scheme, place = ""] = /^(sqlite|file):(.+)$/s.exec(url) ?? [];
  return scheme === undefined || isAbsolute(place) ? url : `${scheme}:${resolve(base, place)}`;
}

function noWorkspace(message: string, root: string | null): HoldfastError {
  return new HoldfastError("E_CONFIG", message, {
    reason: "no_workspace",
    details: { field: "root" },
    next: [root === null ? "holdfast init" : `holdfast init --root ${root}`],
  });
}

function notEmpty(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}
