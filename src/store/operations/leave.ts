/** Removes a waiter's ticket from the queue: after a time-out, which goes on record, or because the caller gave up. */
import type { Contention } from "../../lock/contention.js";
import type { Want } from "../../lock/grant.js";
import type { Party } from "../contract.js";
import type { LedgerView, Outcome } from "../ledger.js";
import { type OperationContext, sharedId } from "./context.js";
import { wakeAfter } from "./queue.js";

export function leave(
  view: LedgerView,
  ticketId: string,
  wants: readonly Want[],
  party: Party,
  report: Contention | null,
  context: OperationContext,
): Outcome<void> {
  const near = view.near(wants.map((want) => want.resource));
  const ticket = near.line.find(ticketId);
  const shared = sharedId(wants);
  const audit =
    report === null
      ? []
      : wants.map((want) => ({
          at: view.now.wallMs,
          event: "refused" as const,
          resource: want.resource,
          owner: party.owner,
          holderId: party.holderId,
          fencingToken: null,
          lockId: null,
          details: {
            ...shared,
            mode: want.mode,
            holder: report.holder,
            owner: report.owner,
            queue_length: report.queue_length,
          },
        }));
  if (ticket === null && audit.length === 0) return { result: undefined, changes: null };
  const wake = ticket === null ? [] : wakeAfter(view, near, context, { left: ticket }).next;
  return { result: undefined, changes: { ticketDrops: ticket === null ? [] : [ticket], audit, wake } };
}
