/** Defines the context that every operation gets besides the view of the guard, and makes audit entries. */
import { randomUUID } from "node:crypto";
import type { AuditDraft, AuditEvent } from "../../lock/audit.js";
import type { Grant } from "../../lock/grant.js";
import { type Key, treeOf } from "../../lock/key.js";
import type { NodeOrder } from "../../lock/order.js";
import type { Witness } from "../../lock/profile.js";
import type { Settings } from "../../lock/settings.js";
import type { Party } from "../contract.js";
import type { LedgerView } from "../ledger.js";

export interface OperationContext {
  readonly settings: Settings;
  readonly order: NodeOrder;
  readonly witness: Witness;
}

/** The entry that tells of something `party` did to `grant`. */
export function entryFor(
  view: LedgerView,
  event: AuditEvent,
  grant: Grant,
  party: Party,
  details: Details,
): AuditDraft {
  return {
    at: view.now.wallMs,
    event,
    resource: grant.resource,
    owner: party.owner,
    holderId: party.holderId,
    fencingToken: grant.fencingToken,
    lockId: grant.lockId,
    details,
  };
}

type Details = Readonly<Record<string, unknown>>;

/** The id that the entries of a step on several trees have in common; null for a step on one. */
export function sharedId(about: readonly { readonly resource: Key }[]): Details | null {
  const [first] = about;
  if (first === undefined || about.length === 1) return null;
  const isOneTree = about.every(({ resource }) => treeOf(resource) === treeOf(first.resource));
  return isOneTree ? null : { op_id: randomUUID() };
}

export function withShared(id: Details | null, details: Details): Details {
  return id === null ? details : { ...id, ...details };
}

/** What an entry keeps of a holder that was ended, so that nothing about it is lost with its record. */
export function previousHolder(grant: Grant): Record<string, unknown> {
  return {
    owner: grant.owner,
    holder_id: grant.holderId,
    nonce: grant.nonce,
    mode: grant.mode,
    acquired_at: new Date(grant.createdAt).toISOString(),
    last_renewed_at: new Date(grant.renewedAt.wallMs).toISOString(),
    renewals: grant.renewals,
    metadata: grant.metadata,
  };
}
