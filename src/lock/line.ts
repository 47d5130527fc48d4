/**
 * The line. Tickets are served by number; a ticket holds back everything behind it that conflicts with what it wants,
 * so a waiting writer is not overtaken by readers for ever. Only whoever can go next is woken.
 */
import type { Grant, Ticket, Want } from "./grant.js";
import { conflictNode } from "./marks.js";
import { ticketStands, type Witness } from "./profile.js";
import type { Instant } from "./time.js";

export function byNumber(a: Ticket, b: Ticket): number {
  return a.number - b.number || (a.ticketId < b.ticketId ? -1 : 1);
}

/** As they are served. Stores keep them so, for the most part. */
export function inTurn(tickets: readonly Ticket[]): readonly Ticket[] {
  let last: Ticket | null = null;
  for (const ticket of tickets) {
    if (last !== null && byNumber(last, ticket) > 0) return [...tickets].sort(byNumber);
    last = ticket;
  }
  return tickets;
}

/** True when one of the wants of `ticket` stands in the way of one of `wants`, as if it were granted. */
export function standsInTheWay(ticket: Ticket, wants: readonly Want[]): boolean {
  for (const theirs of ticket.wants) for (const mine of wants) if (blocksInLine(theirs, mine)) return true;
  return false;
}

/** Two places of one semaphore do not conflict as grants, but in line they take turns. */
function blocksInLine(theirs: Want, mine: Want): boolean {
  const bothPermits = theirs.permits !== null && mine.permits !== null;
  return bothPermits ? theirs.resource === mine.resource : conflictNode(theirs, mine) !== null;
}

/**
 * The tickets to wake after something changed at `around`: those that nobody ahead of them holds back and that what is
 * held now lets in. The dead are passed over.
 */
export function nextInLine(
  tickets: readonly Ticket[],
  held: readonly Grant[],
  now: Instant,
  witness: Witness,
): Ticket[] {
  const ahead: Ticket[] = [];
  const woken: Ticket[] = [];
  for (const ticket of inTurn(tickets)) {
    if (!ticketStands(ticket, now)) continue;
    const heldBack = ahead.some((other) => standsInTheWay(other, ticket.wants));
    const mayGo = !heldBack && !held.some((grant) => blocksTicket(grant, ticket));
    if (mayGo && witness.life(ticket) === "dead") continue;
    if (mayGo) woken.push(ticket);
    ahead.push(ticket);
  }
  return woken;
}

function blocksTicket(grant: Grant, ticket: Ticket): boolean {
  return grant.lockId !== ticket.upgradeOf && ticket.wants.some((want) => conflictNode(grant, want) !== null);
}
