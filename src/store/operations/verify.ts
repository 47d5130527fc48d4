/** Verifies a fencing token: it must belong to a live grant on the resource or above it. Passing does not use it up. */
import type { Grant } from "../../lock/grant.js";
import { isWithin, type Key } from "../../lock/key.js";
import { isExpired } from "../../lock/profile.js";
import type { LedgerView, Outcome } from "../ledger.js";
import { expired, mismatch, notHeld } from "./live-grant.js";

export function verify(view: LedgerView, resource: Key, fencingToken: number): Outcome<Grant> {
  const held = view.near([resource]).grants.filter((grant) => covers(grant, resource));
  const named = held.filter((grant) => grant.fencingToken === fencingToken);
  const live = named.find((grant) => !isExpired(grant, view.now));
  if (live !== undefined) return { result: live, changes: null };
  const [lapsed] = named;
  if (lapsed !== undefined) throw expired(lapsed);
  throw held.length === 0 ? notHeld(resource, `nothing is held on ${resource}`) : mismatch(resource, held);
}

/** A permit covers no subtree. */
function covers({ resource: held, permits }: Grant, resource: Key): boolean {
  return permits === null ? isWithin(resource, held) : held === resource;
}
