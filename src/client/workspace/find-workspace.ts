/**
 * Resolves the workspace, the store, the owner and the settings that are in force for a caller. Every way in uses it: the
 * library, the command, the hooks, the MCP server, the page, workers and the doctor.
 *
 * The first source that names a value decides: the argument, the environment (`HOLDFAST_ROOT`, `HOLDFAST_STORE`,
 * `HOLDFAST_OWNER`, `HOLDFAST_LOCK_TIMEOUT`), `holdfast.config.json`, the record of the workspace, the default. It creates
 * nothing and opens no store; `open-store.ts` compares what was named with what is recorded.
 */
import { realpathSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { HoldfastError, invalidArgument, ioError } from "../../base/errors.js";
import { HOME } from "../../base/home-folder.js";
import { withoutPassword } from "../../base/without-password.js";
import { kindAt, lookUp } from "../../platform/look-up.js";
import { parseOwner, waitFrom } from "../options.js";
import { type Checks, type Config, readConfig } from "./config.js";
import { findRun } from "./find-run.js";
import { ownerFor } from "./owner.js";
import type { RegisteredRun } from "./registered-runs.js";
import { forgetRepositories, type LinkedWorktree } from "./repository.js";
import { isWorkspace, mainFolderOf, nested, searchWorkspace, workspaceAround } from "./search.js";
import { type TokenFolder, tokenFolder } from "./token-folder.js";
import { absoluteFrom, readRecord, type WorkspaceRecord } from "./workspace-record.js";

/** Where a value comes from. `run`: the run of an agent; `found`: the search found the workspace. */
export type Source = "argument" | "environment" | "run" | "config" | "record" | "found" | "default";

/** What a caller names itself: the options of `openHoldfast`, the flags of a command. */
export interface Said extends Omit<Config, "store" | "owner"> {
  readonly root?: string | undefined;
  readonly store?: string | undefined;
  readonly owner?: string | undefined;
  /** The hook's own run: taken as it is, and no run is looked for. */
  readonly acting?: string | undefined;
}

export interface Place {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** `holdfast init` needs a root also where a store is named; with `--nested` it lies inside another workspace. */
  readonly init?: { readonly isNested: boolean };
}

/** `F`: the fields that features have in the configuration. */
export interface FoundWorkspace<F extends object = object> {
  /** Null when a store was named and no workspace is around. */
  readonly root: string | null;
  /** False for a folder that becomes a workspace with its first lock. */
  readonly isThere: boolean;
  /** Whether a folder that is not a workspace yet lies in a repository, or was named as the root. */
  readonly isInRepository: boolean;
  /** Null until the first opener has recorded its store. */
  readonly record: WorkspaceRecord | null;
  /** The linked worktree that the caller works in. */
  readonly worktree: LinkedWorktree | null;
  readonly store: string;
  /** The id that a store without a workspace must have. */
  readonly expectedId?: string | undefined;
  /** The store as it is shown: without a password. */
  readonly where: string;
  readonly owner: string;
  /** The run of an agent that this process belongs to. */
  readonly run: RegisteredRun | null;
  /** For people: what was ignored. */
  readonly notes: readonly string[];
  /** The settings in force, of all sources. */
  readonly config: Omit<Config, "store" | "owner"> & Partial<F>;
  readonly sources: Sources;
  /** The environment that was looked at. */
  readonly env: NodeJS.ProcessEnv;
}

interface Sources {
  readonly root: Source | null;
  readonly store: Source;
  readonly owner: Source;
  /** Of each field in `config`. */
  readonly [field: string]: Source | null;
}

/** Throws `E_CONFIG`, `E_INVALID_ARGUMENT` for an argument, `E_IO`. */
export function findWorkspaceWith<F extends object>(said: Said, at: Place, checks: Checks<F>): FoundWorkspace<F> {
  const { cwd, env, init } = at;
  forgetRepositories();
  const { root: saidRoot, store: saidStore, owner: saidOwner, acting, ...saidSettings } = said;
  const fromEnvironment = notEmpty(env.HOLDFAST_STORE);
  const place = placeOf(init?.isNested ? (saidRoot ?? cwd) : saidRoot, saidStore, at);
  const { root } = place;
  const { store: configStore, owner: configOwner, ...configSettings } = root === null ? {} : readConfig(root, checks);
  const record = root === null ? null : readRecord(root);
  const store = first<string>(
    // mutant: store-from-argument: saidStore && absolute(saidStore, cwd) → undefined
    ["argument", saidStore && absolute(saidStore, cwd)],
    // mutant: store-from-environment: fromEnvironment && absoluteInEnvironment(fromEnvironment, "HOLDFAST_STORE") → undefined
    ["environment", fromEnvironment && absoluteInEnvironment(fromEnvironment, "HOLDFAST_STORE")],
    // mutant: store-from-config: configStore && absolute(configStore, root ?? cwd) → undefined
    ["config", configStore && absolute(configStore, root ?? cwd)],
    // mutant: store-from-record: ["record", record?.store.url], →
    ["record", record?.store.url],
  ) ?? { value: `sqlite:${join(root ?? cwd, HOME, "holdfast.db")}`, source: "default" as const };
  const { owner, source, run, notes } =
    acting === undefined
      ? ownerFor({ said: saidOwner, env, config: configOwner, runs: findRun(root, env) })
      : { owner: acting, source: "run" as const, run: null, notes: [] };
  const settings = settingsOf(saidSettings, env, configSettings);
  return {
    ...place,
    record,
    store: store.value,
    where: withoutPassword(store.value),
    owner,
    run,
    notes,
    config: settings.values as FoundWorkspace<F>["config"],
    sources: { ...settings.sources, root: place.source, store: store.source, owner: source },
    env,
  };
}

/** Returns a store outside of any workspace, for a process that was handed its URL, and perhaps its id. */
export function storeAlone(store: string, owner: string, expectedId?: string): FoundWorkspace {
  return {
    root: null,
    isThere: false,
    isInRepository: false,
    record: null,
    worktree: null,
    store,
    expectedId,
    where: withoutPassword(store),
    owner: parseOwner(owner),
    run: null,
    notes: [],
    config: {},
    sources: { root: null, store: "argument", owner: "argument" },
    env: {},
  };
}

interface Valued<T> {
  readonly value: T;
  readonly source: Source;
}

/** Returns the first value that is given, with its source. */
function first<T>(...candidates: readonly (readonly [Source, T | undefined | ""])[]): Valued<T> | null {
  for (const [source, value] of candidates) if (value !== undefined && value !== "") return { value, source };
  return null;
}

function settingsOf(said: object, env: NodeJS.ProcessEnv, config: object) {
  const values: Record<string, unknown> = {};
  const sources: Record<string, Source> = {};
  const put = (source: Source, fields: object): void => {
    for (const [name, value] of Object.entries(fields))
      if (value !== undefined && name !== "$schema") {
        values[name] = value;
        sources[name] = source;
      }
  };
  put("config", config);
  // mutant: wait-from-environment: put("environment", { wait: waitFrom(env) }); →
  put("environment", { wait: waitFrom(env) });
  // mutant: settings-from-argument: put("argument", said); →
  put("argument", said);
  return { values, sources };
}

type PlaceFound = Pick<FoundWorkspace, "root" | "isThere" | "isInRepository" | "worktree"> & {
  readonly source: Source | null;
};

function placeOf(saidRoot: string | undefined, saidStore: string | undefined, { cwd, env, init }: Place): PlaceFound {
  const around = notEmpty(env.HOLDFAST_ROOT);
  if (saidRoot !== undefined) return namedPlace(resolve(cwd, saidRoot), "argument", init?.isNested === true);
  // mutant: root-from-environment: if (around !== undefined) return → if (around === "") return
  if (around !== undefined) return namedPlace(absoluteInEnvironment(around, "HOLDFAST_ROOT"), "environment", false);
  // mutant: folder-without-name: ?? unnamed(cwd); → ?? cwd;
  const folder = realFolder(cwd) ?? unnamed(cwd);
  const { root, isThere, isInRepository, worktree } = searchWorkspace(folder);
  const isStoreNamed = saidStore !== undefined || (notEmpty(env.HOLDFAST_STORE) !== undefined && !isInRepository);
  if (!isThere && isStoreNamed && init === undefined)
    return { root: null, isThere: false, isInRepository, worktree: null, source: null };
  return { root, isThere, isInRepository, worktree, source: isThere ? "found" : "default" };
}

/** Resolves a root that was named. A folder of a linked worktree stands for the folder of the main one. */
function namedPlace(named: string, source: "argument" | "environment", isNested: boolean): PlaceFound {
  const folder = realFolder(named);
  // mutant: root-is-there: if (folder === null) throw noSuchRoot(named, source); → if (folder === null) return { root: named, isThere: false, isInRepository: true, worktree: null, source };
  if (folder === null) throw noSuchRoot(named, source);
  const { at: root, worktrees } = mainFolderOf(folder);
  const worktree = worktrees[0] ?? null;
  const found = { isInRepository: true, worktree, source };
  if (isWorkspace(root)) return { ...found, root, isThere: true };
  const around = workspaceAround(root);
  if (around === null || (isNested && worktree === null)) return { ...found, root, isThere: false };
  if (worktree !== null) return { ...found, root: around, isThere: true };
  // mutant: named-nested: throw nested(root, around); → return { ...found, root, isThere: false };
  throw nested(root, around);
}

/** Returns the real path of a folder, or null when there is no such folder. */
function realFolder(path: string): string | null {
  if (kindAt(path) !== "folder") return null;
  try {
    return realpathSync.native(path);
  } catch (error) {
    throw ioError(error, "resolve", path);
  }
}

function unnamed(cwd: string): never {
  const message = `the current folder ${cwd} is gone, or its name is not UTF-8`;
  throw new HoldfastError("E_CONFIG", message, {
    reason: "no_workspace",
    details: { path: cwd },
    next: ["Change to another folder, or give --root DIR."],
  });
}

function noSuchRoot(root: string, source: "argument" | "environment"): HoldfastError {
  const message = `${root} is not a folder`;
  if (source === "argument") return invalidArgument("root", message, "Check the path, or create the folder.");
  return new HoldfastError("E_CONFIG", `HOLDFAST_ROOT: ${message}`, {
    reason: "invalid_value",
    details: { field: "HOLDFAST_ROOT" },
    next: ["Correct HOLDFAST_ROOT, or unset it."],
  });
}

/** Throws `E_CONFIG` unless there is a workspace, for a caller that must not make one. */
export function requireWorkspace({ root, isThere, sources }: FoundWorkspace): void {
  if (root === null || isThere) return;
  const isNamed = sources.root === "argument" || sources.root === "environment";
  const message = isNamed
    ? `${root} is not a workspace: it has neither ${HOME}/workspace.json nor holdfast.config.json`
    : `there is no workspace here: neither this folder nor one above it has ${HOME}/workspace.json`;
  throw new HoldfastError("E_CONFIG", message, {
    reason: "no_workspace",
    details: { field: "root" },
    next: [isNamed ? `holdfast init --root ${root}` : "holdfast init"],
  });
}

/** Throws `E_CONFIG` for a folder that only an explicit root or `holdfast init` makes a workspace. */
export function assertMayBeMade({ root, sources }: FoundWorkspace): void {
  if (root === null || sources.root === "argument" || sources.root === "environment") return;
  const why = reasonAgainst(root);
  if (why === null) return;
  throw new HoldfastError("E_CONFIG", `${root} is not made a workspace in passing: it ${why}`, {
    reason: "no_workspace",
    details: { field: "root", path: root },
    next: ["Work in the folder of your project, give --root DIR, or run holdfast init here."],
  });
}

function reasonAgainst(root: string): string | null {
  // mutant: made-in-slash: if (root === "/") → if (root === "")
  if (root === "/") return "is the root folder";
  // mutant: made-at-home: if (root === (realFolder(homedir()) ?? homedir())) → if (root === "")
  if (root === (realFolder(homedir()) ?? homedir())) return "is your home folder";
  // mutant: made-in-open-folder: & 0o002) !== 0 ? → & 0o000) !== 0 ?
  return ((lookUp(root)?.mode ?? 0) & 0o002) !== 0 ? "is writable for everyone" : null;
}

/** Where the tokens for this workspace or store are kept. */
export function tokenFolderOf(
  { root, where }: Pick<FoundWorkspace, "root" | "where">,
  env: NodeJS.ProcessEnv,
): TokenFolder {
  return tokenFolder(root, env, where);
}

/** The path of the file or folder that makes the store there, or null for a store that is not in the file system. */
export function storeMark(store: string): string | null {
  if (store.startsWith("sqlite:")) return store.slice("sqlite:".length);
  if (store.startsWith("file:")) return join(store.slice("file:".length), "store.json");
  return null;
}

/** Throws `E_CONFIG` for a store that ends with the process: a lock taken there by a command would look taken for nothing. */
export function assertShared({ store }: FoundWorkspace): void {
  // mutant: cli-memory-store: (!store.startsWith("memory:")) return; → (store.length > 0) return;
  if (!store.startsWith("memory:")) return;
  throw new HoldfastError("E_CONFIG", `no other process sees the locks in ${store}: it ends with the command`, {
    reason: "unsupported_store",
    details: { field: "store" },
    next: ["Use sqlite:PATH, file:DIR or postgres://…."],
  });
}

/** Makes the path of a URL absolute. A URL without a path is refused: looking there would find nothing held. */
function absolute(url: string, base: string): string {
  if (typeof url !== "string") throw invalidArgument("store", "a URL such as sqlite:PATH");
  if (/^(sqlite|file):$/.test(url))
    throw new HoldfastError("E_CONFIG", `${url} needs a path`, {
      reason: "invalid_store_url",
      details: { field: "store" },
      next: [`Write ${url}PATH.`],
    });
  return absoluteFrom(base, url);
}

/** Children inherit the environment into other folders, where a relative path would name another place. */
function absoluteInEnvironment(value: string, name: string): string {
  const [, path = value] = /^(?:sqlite|file):(.*)$/s.exec(value) ?? [];
  const isPath = name === "HOLDFAST_ROOT" || path !== value;
  // mutant: relative-environment: (!isPath || isAbsolute(path)) → (!isPath || path !== "")
  if (!isPath || isAbsolute(path)) return value;
  throw new HoldfastError(
    "E_CONFIG",
    `${name}=${value} has a relative path, which names another place in each folder`,
    {
      reason: "relative_path",
      details: { field: name },
      next: [`Set ${name} to an absolute path.`],
    },
  );
}

function notEmpty(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}
