/**
 * Named locks, for windows that a single run has at a time: a lease NAME is the lock `runtime:NAME`, held by a name
 * instead of a process, for callers that come and go (a connection per statement, a command per step).
 *
 *   acquire   a token, or null while another holder has it. The same holder gets a new token and the old one dies, so
 *             two processes under one name cannot both continue. Any holder may acquire an expired lease.
 *   renew     only with the current token.
 *   release   true once, with the current token; with any other, or the second time, a harmless false.
 */
import type { Duration } from "../../base/duration.js";
import { invalidArgument, isHoldfastError } from "../../base/errors.js";
import type { Holdfast } from "../../client/holdfast.js";
import { kernelOf, type NamedLeases } from "../../client/kernel.js";
import { parseLease } from "../../client/options.js";
import { type Grant, type GrantRecord, toRecord } from "../../lock/grant.js";
import { type Key, parseKey } from "../../lock/key.js";
import { hashLeaseToken, newLeaseToken } from "../../lock/lease-token.js";
import { isExpired } from "../../lock/profile.js";
import { RUNTIME } from "../../lock/reserved-kinds.js";

export interface RuntimeLease {
  readonly name: string;
  readonly holder: string;
  readonly token: string;
  readonly grant: GrantRecord;
}

export interface RuntimeLeaseStatus {
  readonly name: string;
  readonly state: "free" | "held" | "expired";
  readonly holder: string | null;
  readonly grant: GrantRecord | null;
}

export interface RuntimeLeases {
  /** Null while another holder has it. */
  acquire(name: string, holder: string, ttl?: Duration): Promise<RuntimeLease | null>;
  /** The lease with its new end, or null when the token is not the current one or its time is up. */
  renew(name: string, holder: string, token: string, ttl?: Duration): Promise<GrantRecord | null>;
  release(name: string, holder: string, token: string): Promise<boolean>;
  status(name: string): Promise<RuntimeLeaseStatus>;
}

const DEFAULT_TTL = "15m";
/** Somebody may come in between looking and taking; then it is looked at again. */
const TRIES = 5;

export function createRuntimeLeases(holdfast: Holdfast): RuntimeLeases {
  const kernel = kernelOf(holdfast);

  async function current(key: Key, known: readonly string[] = []): Promise<Grant | null> {
    const { grants } = await kernel.inspect(key, known);
    return grants.find((grant) => grant.resource === key) ?? null;
  }

  async function own(key: Key, holder: string, token: string): Promise<Grant | null> {
    const hash = hashLeaseToken(token);
    const grant = await current(key, [hash]);
    return grant?.tokenHash === hash && holderOf(grant) === holder ? grant : null;
  }

  /** The grant goes over to a new token in one step; the old one opens nothing from then on. */
  async function takeAgain(grant: Grant, leaseMs: number): Promise<{ grant: Grant; token: string } | null> {
    const token = newLeaseToken();
    const hash = hashLeaseToken(token);
    const { resource, lockId, tokenHash } = grant;
    try {
      const [resumed] = await kernel.resume([{ resource, lockId, tokenHash }], hash);
      if (resumed === undefined) return null;
      const ref = { resource, lockId: resumed.lockId, tokenHash: hash };
      const [renewed] = await kernel.renew([ref], leaseMs);
      return renewed === undefined ? null : { grant: renewed, token };
    } catch (error) {
      if (isLost(error)) return null;
      throw error;
    }
  }

  /** The store's own leases, which programs in other languages use too. */
  async function acquireNamed(
    named: NamedLeases,
    name: string,
    key: Key,
    holder: string,
    ttl: Duration,
  ): Promise<RuntimeLease | null> {
    const token = await named.acquire(name, holder, parseLease(ttl), holdfast.owner);
    if (token === null) return null;
    const grant = await own(key, holder, token);
    return grant === null ? null : { name, holder, token, grant: toRecord(grant) };
  }

  async function tryOnce(
    name: string,
    key: Key,
    holder: string,
    ttl: Duration,
  ): Promise<RuntimeLease | null | "again"> {
    const grant = await current(key);
    if (grant !== null && !isExpired(grant, kernel.clock()) && namedIn(grant) === holder) {
      const taken = await takeAgain(grant, parseLease(ttl));
      return taken === null ? "again" : { name, holder, token: taken.token, grant: toRecord(taken.grant) };
    }
    const lease = await holdfast.tryAcquire(key, { ttl, detached: true, metadata: { holder } });
    if (lease === null) return namedIn(await current(key)) === holder ? "again" : null;
    const { token } = lease;
    const [record] = lease.grants;
    await lease.close(); // The grant stays: from here on it is its token's, and nobody here is to watch for its end.
    return record === undefined ? null : { name, holder, token, grant: record };
  }

  return {
    async acquire(name, holder, ttl = DEFAULT_TTL) {
      const key = keyOf(name);
      checkHolder(holder);
      parseLease(ttl);
      if (kernel.namedLeases !== null) return acquireNamed(kernel.namedLeases, name, key, holder, ttl);
      for (let tried = 0; tried < TRIES; tried++) {
        const answer = await tryOnce(name, key, holder, ttl);
        if (answer !== "again") return answer;
      }
      return null;
    },
    async renew(name, holder, token, ttl) {
      const leaseMs = ttl === undefined ? null : parseLease(ttl);
      checkHolder(holder);
      const grant = await own(keyOf(name), holder, token);
      if (grant === null) return null;
      try {
        const { resource, lockId, tokenHash } = grant;
        const [renewed] = await kernel.renew([{ resource, lockId, tokenHash }], leaseMs);
        return renewed === undefined ? null : toRecord(renewed);
      } catch (error) {
        if (isLost(error)) return null;
        throw error;
      }
    },
    async release(name, holder, token) {
      checkHolder(holder);
      const grant = await own(keyOf(name), holder, token);
      if (grant === null) return false;
      try {
        const { resource, lockId, tokenHash } = grant;
        await kernel.release([{ resource, lockId, tokenHash }]);
        return true;
      } catch (error) {
        if (isLost(error)) return false;
        throw error;
      }
    },
    async status(name) {
      const grant = await current(keyOf(name));
      if (grant === null) return { name, state: "free", holder: null, grant: null };
      const state = isExpired(grant, kernel.clock()) ? "expired" : "held";
      return { name, state, holder: holderOf(grant), grant: toRecord(grant) };
    },
  };
}

/** `E_INVALID_ARGUMENT`: a name is one segment of a key. */
function keyOf(name: string): Key {
  if (typeof name !== "string" || name === "" || name.includes("/"))
    throw invalidArgument("name", "a name without slashes, such as gates");
  return parseKey(RUNTIME + name, "name");
}

function checkHolder(holder: string): void {
  if (typeof holder !== "string" || holder.trim() === "")
    throw invalidArgument("holder", "a lease needs a holder's name");
}

function holderOf(grant: Grant): string {
  return namedIn(grant) ?? grant.owner;
}

/** Null for a plain lock: its owner's name is no token, and whoever has the same is a stranger. */
function namedIn(grant: Grant | null): string | null {
  const holder = grant?.metadata.holder;
  // mutant: named-lease-of-a-stranger: === "string" ? holder : null; → === "string" ? holder : (grant?.owner ?? null);
  return typeof holder === "string" ? holder : null;
}

function isLost(error: unknown): boolean {
  return isHoldfastError(error, "E_LOCK_NOT_HELD") || isHoldfastError(error, "E_LOCK_EXPIRED");
}
