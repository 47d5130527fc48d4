/** Removes records that cannot be read, and tickets that have lapsed. */
import type { AuditDraft } from "../../lock/audit.js";
import { type Key, treeOf } from "../../lock/key.js";
import { ticketStands } from "../../lock/profile.js";
import type { Party } from "../contract.js";
import type { LedgerView, Outcome } from "../ledger.js";

/** Like every end of a grant without its holder it raises the fence and is on record, in the same step. */
export function clearUnreadable(view: LedgerView, resource: Key, party: Party): Outcome<number> {
  const { unreadable } = view.near([resource]);
  const broken = unreadable.filter((each) => each.resource === resource && each.isNewer !== true);
  if (broken.length === 0) return { result: 0, changes: null };
  const raised = view.mint(treeOf(resource));
  const audit = broken.map(
    ({ why }): AuditDraft => ({
      at: view.now.wallMs,
      event: "recovered",
      resource,
      owner: party.owner,
      holderId: party.holderId,
      fencingToken: null,
      lockId: null,
      details: { reason: "unreadable", evidence: { why }, new_fencing_token: raised },
    }),
  );
  return { result: broken.length, changes: { clears: [resource], audit, durable: true } };
}

export function dropStaleTickets(view: LedgerView, tree: Key): Outcome<number> {
  const stale = [...view.near([tree]).line].filter((ticket) => !ticketStands(ticket, view.now));
  return { result: stale.length, changes: stale.length === 0 ? null : { ticketDrops: stale } };
}
