/** Notes in a waiter's ticket the grants that its process keeps until the wait ends; null takes the note back. */
import type { Kept, Want } from "../../lock/grant.js";
import type { LedgerView, Outcome } from "../ledger.js";

export function noteKept(
  view: LedgerView,
  ticketId: string,
  wants: readonly Want[],
  kept: readonly Kept[] | null,
): Outcome<void> {
  const ticket = view.near(wants.map((want) => want.resource)).line.find(ticketId);
  const isKnown = ticket === null || JSON.stringify(ticket.kept ?? null) === JSON.stringify(kept);
  return { result: undefined, changes: isKnown ? null : { ticketUpdates: [{ ...ticket, kept }] } };
}
