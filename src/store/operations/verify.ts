/** Is this number the one of a live grant on the resource or above it? Passing does not use it up. */
import type { Grant } from "../../lock/grant.js";
import { isWithin, type Key } from "../../lock/key.js";
import { isExpired } from "../../lock/profile.js";
import type { LedgerView, Outcome } from "../ledger.js";
import { expired, mismatch, notHeld } from "./live-grant.js";

export function verify(view: LedgerView, resource: Key, fencingToken: number): Outcome<Grant> {
  const held = view.near([resource]).grants.filter((grant) => isWithin(resource, grant.resource));
  const named = held.find((grant) => grant.fencingToken === fencingToken);
  if (named === undefined)
    throw held.length === 0 ? notHeld(resource, `nothing is held on ${resource}`) : mismatch(resource, held);
  if (isExpired(named, view.now)) throw expired(named);
  return { result: named, changes: null };
}
