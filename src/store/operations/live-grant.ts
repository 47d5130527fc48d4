/** Finds the caller's own grant under the guard, and throws when it is missing or has lapsed. */

import { HoldfastError } from "../../base/errors.js";
import type { Grant } from "../../lock/grant.js";
import { isWithin } from "../../lock/key.js";
import { isExpired } from "../../lock/profile.js";
import { isoTime } from "../../lock/time.js";
import type { GrantRef } from "../contract.js";
import type { LedgerView } from "../ledger.js";

export function findOwn(view: LedgerView, ref: GrantRef): Grant | null {
  const grant = view.find(ref.resource, ref.lockId);
  // mutant: release-own: !== null && grant.tokenHash === ref.tokenHash ? grant : → ?? view.near([ref.resource]).grants.at(0) ??
  return grant !== null && grant.tokenHash === ref.tokenHash ? grant : null;
}

/** `E_LOCK_NOT_HELD` or `E_LOCK_EXPIRED`. */
export function requireOwn(view: LedgerView, ref: GrantRef): Grant {
  const grant = findOwn(view, ref);
  if (grant === null) throw notHeld(ref.resource, `you do not hold ${ref.resource} (any more)`);
  // mutant: renew-in-time: if (isExpired(grant, view.now)) throw expired(grant); →
  if (isExpired(grant, view.now)) throw expired(grant);
  return grant;
}

/** The check of a mutation: the caller's grant is current, unexpired, and a write. */
export function requireWriter(view: LedgerView, ref: GrantRef): Grant {
  const grant = findOwn(view, ref);
  if (grant === null) throw overtaken(view, ref);
  // mutant: expiry-check: if (isExpired(grant, view.now)) throw expired(grant); →
  if (isExpired(grant, view.now)) throw expired(grant);
  if (grant.mode !== "write" || grant.permits !== null)
    throw notHeld(
      ref.resource,
      `a ${grant.permits === null ? grant.mode : "permit"} on ${ref.resource} commits nothing`,
    );
  return grant;
}

export function requireWriters(view: LedgerView, refs: readonly GrantRef[]): void {
  // mutant: fence-check: for (const ref of refs) requireWriter(view, ref); →
  for (const ref of refs) requireWriter(view, ref);
}

function overtaken(view: LedgerView, ref: GrantRef): HoldfastError {
  const others = view.near([ref.resource]).grants.filter((grant) => isWithin(ref.resource, grant.resource));
  if (others.length === 0) return notHeld(ref.resource, `nothing is held on ${ref.resource} any more`);
  return mismatch(ref.resource, others);
}

export function mismatch(resource: string, current: readonly Grant[]): HoldfastError {
  const held = current.map((grant) => `${grant.owner} with token ${grant.fencingToken}`).join(", ");
  return new HoldfastError("E_FENCING_MISMATCH", `${resource} is held by ${held}`, {
    details: { resource, current: current.map((grant) => grant.fencingToken) },
  });
}

export function notHeld(resource: string, message: string): HoldfastError {
  return new HoldfastError("E_LOCK_NOT_HELD", message, { details: { resource } });
}

export function expired(grant: Grant): HoldfastError {
  const at = isoTime(grant.renewedAt.wallMs + grant.leaseMs);
  return new HoldfastError("E_LOCK_EXPIRED", `the lease on ${grant.resource} ran out at ${at}`, {
    details: { resource: grant.resource, lock_id: grant.lockId, fencing_token: grant.fencingToken, expired_at: at },
    next: ["Acquire again, re-read what you were about to change, then write; or `lease.resume()` if nothing changed."],
  });
}
