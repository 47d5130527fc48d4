/** Records a refusal that comes before any lock is requested: it changes nothing but the audit trail. */
import type { Key } from "../../lock/key.js";
import type { Party } from "../contract.js";
import type { LedgerView, Outcome } from "../ledger.js";

export function refuse(
  view: LedgerView,
  resource: Key,
  party: Party,
  reasons: Readonly<Record<string, unknown>>,
): Outcome<void> {
  const entry = {
    at: view.now.wallMs,
    event: "refused" as const,
    resource,
    owner: party.owner,
    holderId: party.holderId,
    fencingToken: null,
    lockId: null,
    details: reasons,
  };
  return { result: undefined, changes: { audit: [entry] } };
}
