/**
 * Acquires detached grants for a caller that comes back without a token in hand: the token is kept before the request,
 * and found again by key for the same OS user and owner, to renew, convert or release. It is never used to acquire
 * again: a second request counts as that of another requester.
 */

import { HoldfastError, isHoldfastError } from "../../base/errors.js";
import { removeQuietly } from "../../files/durable-file.js";
import { hashLeaseToken } from "../../lock/lease-token.js";
import type { Holdfast } from "../holdfast.js";
import { kernelOf } from "../kernel.js";
import type { DetachedLease } from "../lease/detached-lease.js";
import type { Lease } from "../lease/lease.js";
import type { AcquireOptions } from "../options.js";
import { parseKeys } from "../options.js";
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
  const resources = kernelOf(holdfast).withPayloads(parseKeys(keys));
  let token: string | null = null;
  try {
    const lease = await holdfast[how](keys, {
      ...options,
      detached: true,
      keepToken: (fresh) => {
        // mutant: token-kept-first: files.keep(resources, fresh, new Date(kernelOf(holdfast).clock().wallMs)); →
        files.keep(resources, fresh, new Date(kernelOf(holdfast).clock().wallMs));
        token = fresh;
      },
    });
    files.noteGiven(resources, lease.token);
    return lease;
  } catch (error) {
    const isRefused = error instanceof HoldfastError ? REFUSALS.has(error.code) : error === options.signal?.reason;
    if (token !== null && isRefused) files.forget(resources, token);
    throw error;
  }
}

/** The token from the environment, if it holds anything still: a run that has ended leaves its command a stranger. */
export async function tokensAround(holdfast: Holdfast, around: string | undefined): Promise<readonly string[]> {
  if (around === undefined) return [];
  const held = await kernelOf(holdfast).findHeld(new Set([hashLeaseToken(around)]));
  return held.length === 0 ? [] : [around];
}

export interface Tokens {
  /** Said on the command line: this one and no other. */
  readonly said: string | undefined;
  /** From the environment: used for the keys it holds; a kept token may open the others. */
  readonly around: string | undefined;
  /** Which one is meant of several kept for a key, by its fencing token: whoever sees a list knows no other name of it. */
  readonly fence?: number | undefined;
  /** All grants on a key are meant, where no token and no number says which: inside a run of an agent. */
  readonly all?: boolean;
}

/** A detached lease, and the token that opened it. */
export interface Reattached {
  readonly lease: DetachedLease;
  readonly token: string;
}

/**
 * One lease for the keys of each token, the newest first, because a newer one may nest in an older one. `E_LOCK_NOT_HELD`
 * before anything is changed when one of the keys is not found.
 */
export async function reattachAll(
  holdfast: Holdfast,
  files: TokenFiles,
  keys: readonly string[],
  tokens: Tokens,
): Promise<readonly Reattached[]> {
  const byToken = new Map<string, { readonly keys: string[]; readonly since: string }>();
  for (const key of parseKeys(keys)) {
    const found = tokens.said === undefined ? await tokensFor(holdfast, files, key, tokens) : [unkept(tokens.said)];
    for (const { token, since } of found)
      byToken.set(token, { keys: [...(byToken.get(token)?.keys ?? []), key], since });
  }
  const newestFirst = [...byToken].sort(([, a], [, b]) => (a.since < b.since ? 1 : -1));
  return Promise.all(
    newestFirst.map(async ([token, own]) => ({ lease: await holdfast.reattach(own.keys, token), token })),
  );
}

interface Dated {
  readonly token: string;
  readonly since: string;
}

function unkept(token: string): Dated {
  return { token, since: "" };
}

async function tokensFor(
  holdfast: Holdfast,
  files: TokenFiles,
  key: string,
  { around, fence, all = false }: Tokens,
): Promise<readonly Dated[]> {
  if (fence === undefined && around !== undefined && (await opens(holdfast, key, around))) return [unkept(around)];
  const kept = files.find(key);
  const known = kept.map((each) => hashLeaseToken(each.lease_token));
  const { grants } = await kernelOf(holdfast).inspect(parseKeys(key)[0] ?? fail(), known);
  const fences = new Map(
    grants.filter((grant) => grant.resource === key).map((grant) => [grant.tokenHash, grant.fencingToken]),
  );
  const fenceOf = (each: FoundToken): number | undefined => fences.get(hashLeaseToken(each.lease_token));
  const good = kept.filter((each) => fenceOf(each) !== undefined);
  sweep(
    kept.filter((each) => !good.includes(each)),
    kernelOf(holdfast).clock().wallMs,
  );
  const [first, second] = fence === undefined ? good : good.filter((each) => fenceOf(each) === fence);
  if (first === undefined && good.length > 0) throw otherFence(key, holdfast.owner, fence);
  if (first === undefined) throw notFound(key, holdfast.owner, grants.find((grant) => grant.resource === key)?.owner);
  const meant = fence === undefined && all ? good : [first];
  if (second !== undefined && meant.length === 1) throw ambiguous(key, good.map(fenceOf));
  return meant.map((each) => ({ token: each.lease_token, since: each.created_at }));
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
  for (const kept of stale) if (isAbandoned(kept, nowMs)) removeQuietly(kept.path);
}

/** Of a token that opens nothing: whether it never will. */
export function isAbandoned({ created_at }: FoundToken, nowMs: number): boolean {
  return nowMs - Date.parse(created_at) > ABANDONED_AFTER_MS;
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

function otherFence(key: string, owner: string, fence: number | undefined): HoldfastError {
  const message = `no detached grant of ${owner} on ${key} here has the fencing token ${fence}`;
  return new HoldfastError("E_LOCK_NOT_HELD", message, {
    details: { resource: key },
    next: [`holdfast lock status ${key}`],
  });
}

function ambiguous(key: string, fences: readonly (number | undefined)[]): HoldfastError {
  const message = `there are ${fences.length} grants of yours on ${key}; say which one`;
  return new HoldfastError("E_INVALID_ARGUMENT", `token: ${message}`, {
    details: { field: "token", resource: key, fencing_tokens: fences },
    next: ["Give the lease token of the one you mean with --token."],
  });
}

function fail(): never {
  throw new RangeError("a key was parsed and is not there");
}
