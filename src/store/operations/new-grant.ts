/** Makes the record of a new grant. */
import type { Grant, Want } from "../../lock/grant.js";
import { newLockId } from "../../lock/lock-id.js";
import type { Party } from "../contract.js";
import type { LedgerView } from "../ledger.js";

type Terms = Pick<
  Grant,
  "tokenHash" | "leaseMs" | "graceMs" | "fencingToken" | "profile" | "detached" | "cover" | "metadata"
> & { readonly party: Party };

export function newGrant(view: LedgerView, { resource, mode, permits }: Want, terms: Terms): Grant {
  const { party } = terms;
  return {
    lockId: newLockId(resource),
    resource,
    mode,
    permits,
    owner: party.owner,
    holderId: party.holderId,
    nonce: party.nonce,
    createdAt: view.now.wallMs,
    renewedAt: view.now,
    leaseMs: terms.leaseMs,
    graceMs: terms.graceMs,
    renewals: 0,
    fencingToken: terms.fencingToken,
    tokenHash: terms.tokenHash,
    profile: terms.profile,
    detached: terms.detached,
    cover: terms.cover,
    proof: party.proof,
    metadata: terms.metadata,
  };
}
