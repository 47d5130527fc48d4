/**
 * Checks the options and arguments of callers where they enter: bad input is refused, naming the field, before anything
 * is written.
 */

import { checkOptions, type OptionNames } from "../base/check-options.js";
import { type Duration, type Limits, parseDuration } from "../base/duration.js";
import { HoldfastError, invalidArgument } from "../base/errors.js";
import type { Metadata, Want } from "../lock/grant.js";
import { type Key, MAX_KEYS, parseKey } from "../lock/key.js";
import { MODES, type Mode } from "../lock/mode.js";
import type { BorrowedLease } from "./lease/borrowed-lease.js";

const LEASE_LIMITS: Limits = { atLeastMs: 1_000, atMostMs: 24 * 3_600_000 };
const WAIT_LIMITS: Limits = { atLeastMs: 0, atMostMs: 24 * 3_600_000 };
const DEFAULT_LEASE_MS = 30_000;
const DEFAULT_DETACHED_LEASE_MS = 15 * 60_000;
const DEFAULT_WAIT_MS = 5_000;
const METADATA_BYTES = 16 * 1024;
const MAX_PERMITS = 10_000;
/** Bounds of the durations that say how a lease is kept. */
export const SOME_TIME: Limits = { atLeastMs: 10, atMostMs: 7 * 24 * 3_600_000 };
const OWNER = /^(agent|job|service|user|admin):[^\s\p{C}]{1,200}$/u;

export interface AcquireOptions {
  /** Default `write`. */
  readonly mode?: Mode;
  /** How long the lease lasts without renewal. Default 30 s, detached 15 min; 1 s to 24 h. */
  readonly ttl?: Duration;
  /** How long to wait in line. 0 answers at once. Default 5 s, or `HOLDFAST_LOCK_TIMEOUT` seconds. */
  readonly wait?: Duration;
  /** Gives up waiting, with nothing left behind. */
  readonly signal?: AbortSignal;
  /** The caller's own JSON, kept in the record. At most 16 KiB. */
  readonly metadata?: Metadata;
  /** Leases handed down to this process: the request presents them, so that what they cover nests. */
  readonly within?: readonly BorrowedLease[];
  /** Makes the key a semaphore with this many places. */
  readonly permits?: number;
  /** Leaves the grant standing when this process ends: nobody renews it, only its lease counts. */
  readonly detached?: boolean;
  /** Binds a detached grant to the life of another process of this machine. */
  readonly pid?: number;
  /** Lease tokens of what the caller holds elsewhere, so that it is no stranger to it. `E_LOCK_NOT_HELD` for a dead one. */
  readonly presenting?: readonly string[];
  /** Gets the lease token before the store is asked: kept then, a crash right after the grant loses nothing. */
  readonly keepToken?: (token: string) => void;
}

const ACQUIRE: OptionNames<AcquireOptions> = {
  wait: true,
  ttl: true,
  mode: true,
  signal: true,
  metadata: true,
  within: true,
  permits: true,
  detached: true,
  pid: true,
  presenting: true,
  keepToken: true,
};

const { wait: _wait, ...withoutWait } = ACQUIRE;
/** Of the calls that do not wait. */
export const AT_ONCE: OptionNames<Omit<AcquireOptions, "wait">> = withoutWait;

export interface ParsedAcquire {
  readonly wants: readonly Want[];
  readonly leaseMs: number;
  readonly waitMs: number;
  readonly signal: AbortSignal | undefined;
  readonly metadata: Metadata;
  readonly detached: boolean;
  readonly pid: number | null;
  readonly within: readonly BorrowedLease[];
  readonly presenting: readonly string[];
  readonly keepToken: (token: string) => void;
}

export interface Defaults {
  readonly ttl?: Duration | undefined;
  readonly wait?: Duration | undefined;
}

const NO_METADATA: Metadata = Object.freeze({});

export function parseAcquire(
  keys: string | readonly string[],
  options: AcquireOptions,
  defaults: Defaults,
): ParsedAcquire {
  checkOptions(options, ACQUIRE);
  const detached = flag(options.detached, "detached") || options.pid !== undefined;
  const mode = parseMode(options.mode);
  const permits = parsePermits(options.permits, mode);
  return {
    wants: parseKeys(keys).map((resource) => ({ resource, mode, permits })),
    leaseMs: parseLease(options.ttl ?? (detached ? DEFAULT_DETACHED_LEASE_MS : defaults.ttl)),
    waitMs: parseWait(options.wait ?? defaults.wait),
    signal: parseSignal(options.signal),
    metadata: parseMetadata(options.metadata),
    detached,
    pid: parsePid(options.pid),
    within: parseWithin(options.within),
    presenting: parseTokens(options.presenting),
    keepToken: parseKeepToken(options.keepToken),
  };
}

export function parseKeys(keys: string | readonly string[]): Key[] {
  if (typeof keys === "string") return [parseKey(keys)];
  if (!Array.isArray(keys) || keys.length === 0) throw invalidArgument("keys", "a key, or a list of at least one");
  if (keys.length > MAX_KEYS) throw invalidArgument("keys", `at most ${MAX_KEYS} keys in one request`);
  const parsed = keys.map((key, at) => parseKey(key, keys.length === 1 ? "key" : `keys[${at}]`));
  if (new Set(parsed).size < parsed.length) throw invalidArgument("keys", "the same key twice");
  return parsed;
}

function parseMode(mode: Mode = "write"): Mode {
  if (!MODES.includes(mode)) throw invalidArgument("mode", `${String(mode)} is none of ${MODES.join(", ")}`);
  return mode;
}

function parsePermits(permits: number | undefined, mode: Mode): number | null {
  if (permits === undefined) return null;
  if (!Number.isInteger(permits) || permits < 1 || permits > MAX_PERMITS)
    throw invalidArgument("permits", `a whole number from 1 to ${MAX_PERMITS}`);
  if (mode !== "write") throw invalidArgument("permits", "a place of a semaphore is write-like: leave the mode out");
  return permits;
}

export function parseLease(ttl: Duration = DEFAULT_LEASE_MS): number {
  return parseDuration(ttl, "ttl", LEASE_LIMITS);
}

export function parseWait(wait: Duration = DEFAULT_WAIT_MS): number {
  return parseDuration(wait, "wait", WAIT_LIMITS);
}

/** Returns `HOLDFAST_LOCK_TIMEOUT`, which is in seconds, in milliseconds. Throws `E_CONFIG`. */
export function waitFrom(env: NodeJS.ProcessEnv): number | undefined {
  const text = env.HOLDFAST_LOCK_TIMEOUT;
  if (text === undefined || text === "") return undefined;
  const ms = Number(text) * 1000;
  if (!(ms >= 0) || ms > WAIT_LIMITS.atMostMs)
    throw new HoldfastError("E_CONFIG", `HOLDFAST_LOCK_TIMEOUT=${text} is not a number of seconds from 0 to 86400`, {
      reason: "invalid_value",
      details: { field: "HOLDFAST_LOCK_TIMEOUT", value: text },
      next: ["Set HOLDFAST_LOCK_TIMEOUT to seconds, such as 5 or 0.5, or unset it."],
    });
  return ms;
}

export function parseSignal(signal: AbortSignal | undefined): AbortSignal | undefined {
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw invalidArgument("signal", "an AbortSignal");
  return signal;
}

function parseMetadata(metadata: Metadata | undefined): Metadata {
  if (metadata === undefined) return NO_METADATA;
  if (typeof metadata !== "object" || metadata === null || Array.isArray(metadata))
    throw invalidArgument("metadata", "an object of JSON values");
  let text: string | undefined;
  try {
    text = JSON.stringify(metadata);
  } catch (cause) {
    throw invalidArgument("metadata", `cannot be written as JSON (${String(cause)})`);
  }
  // An object may say of itself that it is something else: a date is text.
  if (!text?.startsWith("{")) throw invalidArgument("metadata", "an object that is one as JSON too");
  if (Buffer.byteLength(text) > METADATA_BYTES) throw invalidArgument("metadata", "at most 16 KiB as JSON");
  return JSON.parse(text) as Metadata;
}

function parsePid(pid: number | undefined): number | null {
  if (pid === undefined) return null;
  if (!Number.isInteger(pid) || pid < 1) throw invalidArgument("pid", "the id of a process");
  return pid;
}

export function parseToken(token: string): string {
  if (typeof token !== "string") throw invalidArgument("token", "a lease token");
  return token;
}

function parseTokens(tokens: readonly string[] = []): readonly string[] {
  if (!Array.isArray(tokens) || tokens.some((token) => typeof token !== "string" || token === ""))
    throw invalidArgument("presenting", "a list of lease tokens");
  return tokens;
}

function parseWithin(within: readonly BorrowedLease[] = []): readonly BorrowedLease[] {
  if (!Array.isArray(within) || within.some((lease) => !Array.isArray(lease?.presented)))
    throw invalidArgument("within", "a list of borrowed leases");
  return within;
}

function parseKeepToken(keepToken: (token: string) => void = () => undefined): (token: string) => void {
  if (typeof keepToken !== "function") throw invalidArgument("keepToken", "a function");
  return keepToken;
}

function flag(value: boolean | undefined, field: string): boolean {
  if (value !== undefined && typeof value !== "boolean") throw invalidArgument(field, "true or false");
  return value ?? false;
}

export function parseOwner(owner: string, field = "owner"): string {
  if (typeof owner !== "string" || !OWNER.test(owner))
    throw invalidArgument(field, `${shown(owner)} is no agent:…, job:…, service:…, user:… or admin:…`);
  return owner;
}

function shown(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value) : `a value of type ${typeof value}`;
}
