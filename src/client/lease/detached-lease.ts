/**
 * A detached grant, picked up again by the bearer of its token: a process other than the one that acquired it, perhaps
 * much later. Nothing is trusted here and nothing is renewed by itself; every call queries the store, which decides.
 *
 * Only detached grants: what a live process holds is its own business, and its token, handed down, only borrows.
 */

import type { Duration } from "../../base/duration.js";
import { HoldfastError, invalidArgument, isHoldfastError } from "../../base/errors.js";
import { type Grant, type GrantRecord, toRecord } from "../../lock/grant.js";
import type { Key } from "../../lock/key.js";
import { hashLeaseToken } from "../../lock/lease-token.js";
import type { GrantRef } from "../../store/contract.js";
import { parseKeys, parseLease, parseToken } from "../options.js";
import { type LastingRecord, toLasting } from "../reading/lock-status.js";
import { payloadKeyOf } from "../workspace/payload-key.js";
import { findHeld } from "./held-tokens.js";
import type { LeaseHome } from "./lease-context.js";
import { type UpgradeOptions, untilUpgraded } from "./upgrade.js";

export interface DetachedLease {
  readonly keys: readonly string[];
  /** As the store gave them last. */
  readonly grants: readonly GrantRecord[];
  /** @internal The same as they are now. */
  readonly lasting: readonly LastingRecord[];
  /** Extends all of them, or none. `E_LOCK_EXPIRED`, `E_LOCK_NOT_HELD`. */
  renew(ttl?: Duration): Promise<void>;
  /** As `Lease.upgrade`. */
  upgrade(options?: UpgradeOptions): Promise<void>;
  /** As `Lease.downgrade`. */
  downgrade(): Promise<void>;
  /** `E_LOCK_NOT_HELD` when somebody else ended it first, and the second time. */
  release(): Promise<void>;
}

/** `E_LOCK_NOT_HELD` when the token has no detached grant on one of the keys. */
export async function createDetachedLease(
  home: LeaseHome,
  keys: string | readonly string[],
  token: string,
): Promise<DetachedLease> {
  const { store } = home;
  const tokenHash = hashLeaseToken(parseToken(token));
  const named = parseKeys(keys);
  let grants: readonly Grant[] = [
    ...(await Promise.all(named.map((resource) => findDetached(home, resource, tokenHash)))),
    ...(await payloadsOf(home, named, tokenHash)),
  ];
  const refs = (): GrantRef[] => grants.map(({ resource, lockId }) => ({ resource, lockId, tokenHash }));
  return {
    keys: grants.map((grant) => grant.resource),
    get grants() {
      return grants.map(toRecord);
    },
    get lasting() {
      const now = home.clock();
      return grants.map((grant) => toLasting(grant, now));
    },
    async renew(ttl) {
      grants = await store.locks.renew(refs(), ttl === undefined ? null : parseLease(ttl));
    },
    async upgrade(options = {}) {
      const [grant, other] = refs();
      if (grant === undefined || other !== undefined) throw invalidArgument("keys", "upgrade one key at a time");
      const presented = [grant, ...(await findHeld(home, new Set([tokenHash])))];
      ({ grants } = await home.holdings.track(untilUpgraded(home, grant, () => presented, options)));
    },
    async downgrade() {
      grants = await store.locks.downgrade(refs(), home.party);
    },
    release: () => store.locks.release(refs(), home.party),
  };
}

/** Returns what was granted with a worktree for its payload: it is renewed and ended with it. */
async function payloadsOf(home: LeaseHome, named: readonly Key[], tokenHash: string): Promise<readonly Grant[]> {
  const keys = named.map((key) => payloadKeyOf(home.files, key)).filter((key) => key !== null);
  const found = keys
    .filter((key) => !named.includes(key))
    .map((key) => findDetached(home, key, tokenHash).catch(asNone));
  return (await Promise.all(found)).filter((grant) => grant !== null);
}

function asNone(error: unknown): null {
  if (isHoldfastError(error, "E_LOCK_NOT_HELD")) return null;
  throw error;
}

async function findDetached({ store }: LeaseHome, resource: Key, tokenHash: string): Promise<Grant> {
  const { grants } = await store.reader.inspect(resource, [tokenHash]);
  const own = grants.find((grant) => grant.resource === resource && grant.tokenHash === tokenHash);
  if (own === undefined) throw notHeld(resource, `this token holds nothing on ${resource} (any more)`);
  // mutant: reattach-detached-only: (own.detached) return own; → (own.detached || own.lockId !== "") return own;
  if (own.detached) return own;
  throw notHeld(
    resource,
    `${resource} is held by a process of its own (${own.holderId}), which keeps it and gives it back; a borrowed token may only verify and commit`,
  );
}

function notHeld(resource: Key, message: string): HoldfastError {
  return new HoldfastError("E_LOCK_NOT_HELD", message, { details: { resource } });
}
