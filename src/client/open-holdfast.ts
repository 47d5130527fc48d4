/**
 * Opens the library: `openHoldfast` resolves the workspace, the store and the settings, opens the store and returns the
 * Holdfast instance. Programs with a resolved workspace in hand (the command, hooks, the MCP server) use `openIn`.
 */
import { checkOptions, type OptionNames } from "../base/check-options.js";
import { type Duration, parseDuration } from "../base/duration.js";
import { invalidArgument, isHoldfastError } from "../base/errors.js";
import type { Profile } from "../lock/grant.js";
import { checkSettings, type Settings } from "../lock/settings.js";
import { type Clock, createProcessClock, createSystemClock } from "../platform/clock.js";
import { currentFolder } from "../platform/current-folder.js";
import type { Store } from "../store/contract.js";
import { openInstallation } from "../store/open.js";
import { Holdfast } from "./holdfast.js";
import { parseLease, parseWait, SOME_TIME } from "./options.js";
import { pathKeyInside } from "./path-key.js";
import { createLoopHeart } from "./renewing/loop-renewer.js";
import { createThreadHeart } from "./renewing/thread-renewer.js";
import type { Checks } from "./workspace/config.js";
import { type FoundWorkspace, findWorkspaceWith, type Place, type Said } from "./workspace/find-workspace.js";
import { type Files, openStoreOf, openStoreToRead } from "./workspace/open-store.js";
import { settingsInForce } from "./workspace/settings-in-force.js";
import type { WorkspaceRecord } from "./workspace/workspace-record.js";

export { openInstallation };

export interface HoldfastOptions {
  /** Folder of the workspace, which must exist (default: found from the current folder upwards). */
  readonly root?: string;
  /** Store: `sqlite:PATH`, `file:DIR`, `memory:NAME` or `postgres://…` (default: the one that the workspace uses). */
  readonly store?: string;
  /** Who acts: `agent:…`, `job:…`, `service:…`, `user:…` or `admin:…` (default: `user:NAME@HOST`). */
  readonly owner?: string;
  /** Lease of what is acquired here, 1 s to 24 h (default: 30 s, detached 15 min). */
  readonly ttl?: Duration;
  /** Time to wait in the queue, up to 24 h (default: 5 s). */
  readonly wait?: Duration;
  /** Longest time between two renewals (default: 10 s). */
  readonly heartbeat?: Duration;
  /** Renewal stops when the main thread shows no progress for this long (default: five leases). */
  readonly maxStall?: Duration;
  /** Where leases are renewed: in a thread of its own, or in the event loop of a program that never blocks (default: `thread`). */
  readonly heart?: "thread" | "loop";
  /** `strict` refuses a key that sorts before one already held even when it is free (default: `free`). */
  readonly order?: "free" | "strict";
  /** Kinds that come first in the global order. Recorded in the store. */
  readonly levels?: readonly string[];
  /** Recovery profile by key prefix. Recorded in the store. */
  readonly profiles?: Readonly<Record<string, Profile>>;
  /** Time without a heartbeat before recovery under the profile `dal` (default: one lease). */
  readonly grace?: Duration;
}

const OPEN: OptionNames<HoldfastOptions> = {
  root: true,
  store: true,
  owner: true,
  ttl: true,
  wait: true,
  heartbeat: true,
  maxStall: true,
  heart: true,
  order: true,
  levels: true,
  profiles: true,
  grace: true,
};

/**
 * Opens the workspace around the current folder, or the one that `root` names, with the settings of the options, the
 * environment, `holdfast.config.json` and its record, in this order. Makes a workspace when there is none; `checks` are those
 * of the features' fields in the configuration. Throws `E_INVALID_ARGUMENT`, `E_CONFIG`, `E_IO`, `E_STORE_UNAVAILABLE`,
 * `E_STORE_CORRUPT`, `E_FORMAT_UNSUPPORTED`.
 */
export async function openHoldfastWith<F extends object>(
  options: HoldfastOptions,
  checks: Checks<F>,
): Promise<Holdfast> {
  checkOptions(options, OPEN);
  const { heart, ...said } = options;
  if (said.root !== undefined && typeof said.root !== "string") throw invalidArgument("root", "a path");
  const found = findWorkspaceWith(said, processPlace(), checks);
  return openIn(found, { heart: heart ?? "thread", onMade: warnOfWorkspace });
}

function processPlace(): Place {
  return { cwd: currentFolder(), env: process.env };
}

export interface OpenedAround {
  readonly holdfast: Holdfast;
  readonly workspace: FoundWorkspace;
}

/**
 * Opens the workspace that a folder belongs to, whichever workspace this process stands in, under this name; null when the
 * folder belongs to none. Throws what `openHoldfast` throws.
 */
export async function openAround<F extends object>(
  folder: string,
  owner: string,
  checks: Checks<F>,
): Promise<OpenedAround | null> {
  const workspace = findAround(folder, owner, checks);
  if (workspace === null) return null;
  const holdfast = await openIn(workspace, { owner, heart: "loop" });
  return { holdfast, workspace };
}

/** The environment speaks for the workspace of this process; another one is found from the folder. */
function findAround<F extends object>(folder: string, owner: string, checks: Checks<F>): FoundWorkspace<F> | null {
  const place = processPlace();
  const { HOLDFAST_ROOT: _root, HOLDFAST_STORE: _store, ...env } = place.env;
  const own = find(owner, place, checks);
  if (own !== null && own.root !== null && pathKeyInside(own.root, folder) !== null) return own;
  const found = find(owner, { cwd: folder, env }, checks);
  return found?.root != null && pathKeyInside(found.root, folder) !== null ? found : null;
}

/** Under a name that a run of an agent may not use nothing of that run is used. */
function find<F extends object>(owner: string, place: Place, checks: Checks<F>): FoundWorkspace<F> | null {
  const as = (said: Said): FoundWorkspace<F> | null => {
    const found = findWorkspaceWith(said, place, checks);
    return found.isThere ? found : null;
  };
  try {
    return as({ owner });
  } catch (error) {
    if (!isHoldfastError(error, "E_FORBIDDEN")) throw error;
    return as({ acting: owner });
  }
}

export interface OpenChoices {
  readonly heart?: "thread" | "loop";
  /** Acts under this name instead of the resolved one. */
  readonly owner?: string;
  /** Holds for a command that it runs: see runtime/. */
  readonly runsCommand?: boolean;
  readonly made?: WorkspaceRecord["made"];
  /** Called with the folder that became a workspace. */
  readonly onMade?: (root: string) => void;
}

/** Opens a workspace that was resolved. */
export async function openIn(found: FoundWorkspace, choices: OpenChoices = {}): Promise<Holdfast> {
  const settings = parsedSettings(found, choices.heart);
  const clock = clockFor(found);
  const { store, files, madeIn } = await openStoreOf(found, settings.stated, clock, choices.made);
  if (madeIn !== null) choices.onMade?.(madeIn);
  return createHoldfast(found, choices, settings, { store, files, clock });
}

/** Opens the store of a workspace for reading only; null when it has none yet. Creates nothing. */
export async function openForReading(found: FoundWorkspace): Promise<Holdfast | null> {
  const settings = parsedSettings(found, "loop");
  const clock = clockFor(found);
  const opened = await openStoreToRead(found, settings.stated, clock);
  return opened === null ? null : createHoldfast(found, { heart: "loop" }, settings, { ...opened, clock });
}

/** Checks the settings in force before anything is opened. */
function parsedSettings({ config }: FoundWorkspace, heart: string | undefined) {
  oneOf(config.order, "order", ["free", "strict"]);
  oneOf(heart, "heart", ["thread", "loop"]);
  return {
    stated: statedSettings(config),
    rhythm: {
      heartbeatMs: parseDuration(config.heartbeat ?? 10_000, "heartbeat", SOME_TIME),
      maxStallMs: config.maxStall === undefined ? null : parseDuration(config.maxStall, "maxStall", SOME_TIME),
    },
    ttl: config.ttl === undefined ? undefined : parseLease(config.ttl),
    wait: config.wait === undefined ? undefined : parseWait(config.wait),
    graceMs: config.grace === undefined ? null : parseDuration(config.grace, "grace", SOME_TIME),
    strictOrder: config.order === "strict",
  };
}

/** Stores in memory and on a server take the stamps of one process, or of the server: this machine need not tell its boot. */
function clockFor({ store }: FoundWorkspace): Clock {
  return /^(memory|postgres|postgresql):/.test(store) ? createProcessClock() : createSystemClock();
}

interface Opened {
  readonly store: Store;
  readonly files: Files;
  readonly clock: Clock;
}

function createHoldfast(
  found: FoundWorkspace,
  { heart = "thread", owner = found.owner, runsCommand = false }: OpenChoices,
  { rhythm, stated: _stated, ...settings }: ReturnType<typeof parsedSettings>,
  { store, files, clock }: Opened,
): Holdfast {
  // mutant: heart-beside-loop: staysInProcess = heart === "loop" || → staysInProcess = true ||
  const staysInProcess = heart === "loop" || store.url.startsWith("memory:");
  return new Holdfast({
    ...settings,
    store,
    owner,
    clock,
    createHeart: () => {
      const loopHeart = createLoopHeart(store.locks, clock, rhythm);
      return staysInProcess ? loopHeart : createThreadHeart(store, clock, rhythm, loopHeart);
    },
    env: found.env,
    runsCommand,
    files,
    settings: settingsInForce({ ...found, owner }),
  });
}

function warnOfWorkspace(root: string): void {
  process.emitWarning(`made a workspace in ${root}, because there was none`, {
    type: "HoldfastWarning",
    code: "HOLDFAST_WORKSPACE_MADE",
    detail: "Run `holdfast init` there to say that it is meant to be one, or give `root`.",
  });
}

function statedSettings({ levels, profiles }: FoundWorkspace["config"]): Partial<Settings> {
  const stated = { ...(levels === undefined ? {} : { levels }), ...(profiles === undefined ? {} : { profiles }) };
  checkSettings(stated);
  return stated;
}

function oneOf(value: string | undefined, field: string, allowed: readonly string[]): void {
  if (value !== undefined && !allowed.includes(value)) throw invalidArgument(field, `one of ${allowed.join(", ")}`);
}

/** Sets a store up, or brings it up to date, where opening it does not do that: PostgreSQL. */
export async function migrateStore(url: string): Promise<void> {
  const installation = await openInstallation(url);
  await installation.install();
}
