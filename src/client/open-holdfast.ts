/** Opens the library: `openHoldfast` checks the options, opens the store and returns the Holdfast instance. */
import { mkdirSync } from "node:fs";
import { hostname } from "node:os";
import { join, resolve } from "node:path";
import { type Duration, parseDuration } from "../base/duration.js";
import { invalidArgument, ioError } from "../base/errors.js";
import { HOME } from "../base/home-folder.js";
import type { Profile } from "../lock/grant.js";
import { checkSettings, type Settings } from "../lock/settings.js";
import { createSystemClock } from "../platform/clock.js";
import { userName } from "../platform/machine.js";
import { openInstallation, openStore } from "../store/open.js";
import { Holdfast } from "./holdfast.js";
import { checkOptions, parseLease, parseOwner, parseWait } from "./options.js";
import { createLoopHeart } from "./renewing/loop-renewer.js";
import { createThreadHeart } from "./renewing/thread-renewer.js";

export { openInstallation };

export interface HoldfastOptions {
  /** The workspace: locks are kept in `<root>/.holdfast/holdfast.db`. Default: the current folder. */
  readonly root?: string;
  /** Another place for them: `sqlite:PATH`, `file:DIR`, `memory:NAME` or `postgres://…`. */
  readonly store?: string;
  /** Who acts: `agent:…`, `job:…`, `service:…`, `user:…` or `admin:…`. Default `user:NAME@HOST`. */
  readonly owner?: string;
  /** Default lease of what is acquired here. */
  readonly ttl?: Duration;
  /** Default time to wait in line. */
  readonly wait?: Duration;
  /** Longest time between two renewals. Default 10 s. */
  readonly heartbeat?: Duration;
  /** Renewal stops when the main thread shows no progress for this long. Default five leases. */
  readonly maxStall?: Duration;
  /** Where the heart beats: beside the event loop (default), or in it, for programs that never block. */
  readonly heart?: "thread" | "loop";
  /** `strict` refuses a key that sorts before one already held even when it is free. Default `free`. */
  readonly order?: "free" | "strict";
  /** Kinds that come first in the global order. Recorded in the store. */
  readonly levels?: readonly string[];
  /** Recovery profile by key prefix. Recorded in the store. */
  readonly profiles?: Readonly<Record<string, Profile>>;
  /** Profile `dal`: how long without a heartbeat before recovery. Default one lease. */
  readonly grace?: Duration;
}

const SOME_TIME = { atLeastMs: 10, atMostMs: 7 * 24 * 3_600_000 };

/** Opens a workspace or a store. `E_INVALID_ARGUMENT`, `E_CONFIG`, `E_IO`, `E_STORE_UNAVAILABLE`, `E_FORMAT_UNSUPPORTED`. */
export async function openHoldfast(options: HoldfastOptions = {}): Promise<Holdfast> {
  checkOptions(options);
  return open(options, false);
}

/** The same for a process that does nothing but run a command: what it holds lasts as long as that. */
export async function openForCommand(options: HoldfastOptions): Promise<Holdfast> {
  return open({ ...options, heart: "loop" }, true);
}

async function open(options: HoldfastOptions, runsCommand: boolean): Promise<Holdfast> {
  const owner = parseOwner(options.owner ?? `user:${userName()}@${hostname()}`);
  const stated = statedSettings(options);
  const rhythm = {
    heartbeatMs: parseDuration(options.heartbeat ?? 10_000, "heartbeat", SOME_TIME),
    maxStallMs: options.maxStall === undefined ? null : parseDuration(options.maxStall, "maxStall", SOME_TIME),
  };
  const ttl = options.ttl === undefined ? undefined : parseLease(options.ttl);
  const wait = options.wait === undefined ? undefined : parseWait(options.wait);
  oneOf(options.order, "order", ["free", "strict"]);
  oneOf(options.heart, "heart", ["thread", "loop"]);
  const graceMs = options.grace === undefined ? null : parseDuration(options.grace, "grace", SOME_TIME);

  const clock = createSystemClock();
  const store = await openStore(storeUrl(options), stated, clock);
  const loopHeart = createLoopHeart(store.locks, clock, rhythm);
  // mutant: heart-beside-loop: staysInProcess = options.heart === "loop" || → staysInProcess = true ||
  const staysInProcess = options.heart === "loop" || store.url.startsWith("memory:");
  return new Holdfast({
    store,
    owner,
    clock,
    heart: staysInProcess ? loopHeart : createThreadHeart(store, clock, rhythm, loopHeart),
    ttl,
    wait,
    env: process.env,
    graceMs,
    strictOrder: options.order === "strict",
    runsCommand,
  });
}

function statedSettings({ levels, profiles }: HoldfastOptions): Partial<Settings> {
  const stated = { ...(levels === undefined ? {} : { levels }), ...(profiles === undefined ? {} : { profiles }) };
  checkSettings(stated);
  return stated;
}

function storeUrl({ root, store }: HoldfastOptions): string {
  if (root !== undefined && typeof root !== "string") throw invalidArgument("root", "a path");
  if (store !== undefined) {
    if (typeof store !== "string") throw invalidArgument("store", "a URL such as sqlite:PATH");
    if (root !== undefined) throw invalidArgument("store", "give either a root or a store");
    return store;
  }
  const home = join(resolve(root ?? "."), HOME);
  try {
    mkdirSync(home, { recursive: true });
  } catch (error) {
    throw ioError(error, "create", home);
  }
  return `sqlite:${join(home, "holdfast.db")}`;
}

function oneOf(value: string | undefined, field: string, allowed: readonly string[]): void {
  if (value !== undefined && !allowed.includes(value)) throw invalidArgument(field, `one of ${allowed.join(", ")}`);
}

/** Sets a store up, or brings it up to date, where opening it does not do that: PostgreSQL. */
export async function migrateStore(url: string): Promise<void> {
  const installation = await openInstallation(url);
  await installation.install();
}
