/**
 * Detached grants for whoever comes back without a token in hand: taken with the token kept first, and found again by key
 * for the same OS user and owner, to renew, convert or release. Never to acquire again: a second request is a stranger.
 */
import type { DetachedLease } from "../lease/detached-lease.js";
import type { Holdfast } from "../lease/holdfast.js";
import type { Lease } from "../lease/lease.js";
import type { AcquireOptions } from "../lease/options.js";
import { parseKeys } from "../lease/options.js";
import { findHeld } from "../lease/presented.js";
import { removeQuietly } from "../support/durable-file.js";
import { HoldfastError, isHoldfastError } from "../support/errors.js";
import { hashLeaseToken } from "../support/lease-token.js";
import type { FoundToken, TokenFiles } from "./token-files.js";

/** Nobody waits longer than a day, so a token kept for longer that opens nothing never will. */
const ABANDONED_AFTER_MS = 25 * 3_600_000;
/** After these it is certain that nothing was granted. After anything else the token stays, in case it was. */
const REFUSALS = new Set([
  "E_LOCK_CONFLICT",
  "E_LOCK_TIMEOUT",
  "E_LOCK_ORDER",
  "E_LOCK_NOT_HELD",
  "E_INVALID_ARGUMENT",
  "E_CONFIG",
  "E_NOT_FOUND",
]);

/** Acquires, or steals, with the token on the disk before the store is asked. */
export async function acquireDetached(
  how: "acquire" | "steal",
  holdfast: Holdfast,
  files: TokenFiles,
  keys: readonly string[],
  options: AcquireOptions,
): Promise<Lease> {
  const resources = parseKeys(keys);
  let token: string | null = null;
  try {
    return await holdfast[how](keys, {
      ...options,
      detached: true,
      keepToken: (fresh) => {
        files.keep(resources, fresh, new Date(holdfast.home.clock().wallMs));
        token = fresh;
      },
    });
  } catch (error) {
    const isRefused = error instanceof HoldfastError ? REFUSALS.has(error.code) : error === options.signal?.reason;
    if (token !== null && isRefused) files.forget(resources, token);
    throw error;
  }
}

/** The token from the environment, if it holds anything still: a run that has ended leaves its command a stranger. */
export async function tokensAround(holdfast: Holdfast, around: string | undefined): Promise<readonly string[]> {
  if (around === undefined) return [];
  const held = await findHeld(holdfast.home, new Set([hashLeaseToken(around)]));
  return held.length === 0 ? [] : [around];
}

export interface Tokens {
  /** Said on the command line: this one and no other. */
  readonly said: string | undefined;
  /** From the environment: used for the keys it holds; a kept token may open the others. */
  readonly around: string | undefined;
}

/** A detached lease, and the token that opened it. */
export interface Reattached {
  readonly lease: DetachedLease;
  readonly token: string;
}

/** One lease for the keys of each token. `E_LOCK_NOT_HELD` before anything is changed when one of the keys is not found. */
export async function reattachAll(
  holdfast: Holdfast,
  files: TokenFiles,
  keys: readonly string[],
  tokens: Tokens,
): Promise<readonly Reattached[]> {
  const byToken = new Map<string, string[]>();
  for (const key of parseKeys(keys)) {
    const token = tokens.said ?? (await tokenFor(holdfast, files, key, tokens.around));
    byToken.set(token, [...(byToken.get(token) ?? []), key]);
  }
  return Promise.all([...byToken].map(async ([token, own]) => ({ lease: await holdfast.reattach(own, token), token })));
}

async function tokenFor(
  holdfast: Holdfast,
  files: TokenFiles,
  key: string,
  around: string | undefined,
): Promise<string> {
  if (around !== undefined && (await opens(holdfast, key, around))) return around;
  const kept = files.find(key);
  const known = kept.map((each) => hashLeaseToken(each.lease_token));
  const { grants } = await holdfast.home.store.reader.inspect(parseKeys(key)[0] ?? fail(), known);
  const live = new Set(grants.filter((grant) => grant.resource === key).map((grant) => grant.tokenHash));
  const good = kept.filter((each) => live.has(hashLeaseToken(each.lease_token)));
  sweep(
    kept.filter((each) => !good.includes(each)),
    holdfast.home.clock().wallMs,
  );
  const [first, second] = good;
  if (first === undefined) throw notFound(key, holdfast.owner, grants.find((grant) => grant.resource === key)?.owner);
  if (second !== undefined) throw ambiguous(key, good.length);
  return first.lease_token;
}

async function opens(holdfast: Holdfast, key: string, token: string): Promise<boolean> {
  try {
    await holdfast.reattach(key, token);
    return true;
  } catch (error) {
    if (isHoldfastError(error, "E_LOCK_NOT_HELD")) return false;
    throw error;
  }
}

function sweep(stale: readonly FoundToken[], nowMs: number): void {
  for (const { path, created_at } of stale)
    if (nowMs - Date.parse(created_at) > ABANDONED_AFTER_MS) removeQuietly(path);
}

function notFound(key: string, owner: string, holder: string | undefined): HoldfastError {
  const who =
    holder === undefined ? "nobody holds it" : `${holder === owner ? "another client of that name" : holder} holds it`;
  const borrow = "Give the lease token with --token if another user or owner took it for you.";
  return new HoldfastError("E_LOCK_NOT_HELD", `${owner} has no detached grant on ${key} here; ${who}`, {
    details: { resource: key },
    next: [`holdfast lock status ${key}`, ...(holder === undefined ? [] : [borrow])],
  });
}

function ambiguous(key: string, count: number): HoldfastError {
  return new HoldfastError("E_INVALID_ARGUMENT", `token: there are ${count} grants of yours on ${key}; say which one`, {
    details: { field: "token" },
    next: ["Give the lease token of the one you mean with --token."],
  });
}

function fail(): never {
  throw new RangeError("a key was parsed and is not there");
}
