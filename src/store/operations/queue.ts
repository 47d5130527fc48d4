/** Standing in line: taking a ticket, keeping it fresh, giving it back, and whom to wake when something changed. */
import { randomUUID } from "node:crypto";
import { type Contention, contentionReport } from "../../lock/contention.js";
import type { Decision, Neighbourhood } from "../../lock/decide.js";
import type { Bid, Grant, Ticket, Want } from "../../lock/grant.js";
import { byNumber, nextInLine, standsInTheWay } from "../../lock/line.js";
import { conflictNode } from "../../lock/marks.js";
import { TICKET_LEASE_MS, ticketStands } from "../../lock/profile.js";
import type { Instant } from "../../lock/time.js";
import type { Answer, Party, Waiting } from "../contract.js";
import type { LedgerView, Outcome } from "../ledger.js";
import type { OperationContext } from "./context.js";

/** Refreshed this often at most, so that a waiter that looks often does not write often. */
const REFRESH_AFTER_MS = TICKET_LEASE_MS / 5;

type Blocked = Extract<Decision, { kind: "wait" }>;

export interface QueuedRequest {
  readonly wants: readonly Want[];
  readonly waiting: Waiting;
  readonly party: Party;
  readonly ticket: Ticket | null;
  readonly upgradeOf: string | null;
  readonly bid: Bid | null;
}

export function ticketOf(near: Neighbourhood, { ticketId }: Waiting): Ticket | null {
  return ticketId === null ? null : (near.tickets.find((ticket) => ticket.ticketId === ticketId) ?? null);
}

/** The answer to a request that cannot go now: a place in line, or the conflict when it does not want to wait. */
export function standInLine(
  view: LedgerView,
  near: Neighbourhood,
  blocked: Blocked,
  request: QueuedRequest,
): Outcome<Answer> {
  const waiting = waitingWith(near, request.wants, request.ticket, view.now);
  const contention = report(view, request.wants, blocked.holders, waiting);
  if (request.waiting.waitMs <= 0) return { result: { kind: "conflict", contention }, changes: null };

  const isNew = request.ticket === null || !ticketStands(request.ticket, view.now);
  const ticket = isNew || request.ticket === null ? newTicket(view, request) : request.ticket;
  const isFresh = !isNew && view.now.bootMs - ticket.refreshedAt.bootMs < REFRESH_AFTER_MS;
  const lapsed = near.tickets.filter((other) => !ticketStands(other, view.now));
  const ahead = waiting.filter((other) => byNumber(other, ticket) < 0).length;
  const result: Answer = { kind: "queued", ticketId: ticket.ticketId, ahead, contention };
  if (isFresh && lapsed.length === 0) return { result, changes: null };
  const refreshed = [{ ...ticket, refreshedAt: view.now }];
  return { result, changes: { [isNew ? "ticketAdds" : "ticketUpdates"]: refreshed, ticketDrops: lapsed } };
}

function newTicket(view: LedgerView, { wants, waiting, party, upgradeOf, bid }: QueuedRequest): Ticket {
  return {
    ticketId: waiting.ticketId ?? randomUUID(),
    number: upgradeOf === null ? view.nextTicketNumber() : 0,
    wants,
    owner: party.owner,
    holderId: party.holderId,
    nonce: party.nonce,
    proof: party.proof,
    enteredAt: view.now,
    waitMs: waiting.waitMs,
    refreshedAt: view.now,
    upgradeOf,
    bid,
  };
}

export function reportContention(
  view: LedgerView,
  near: Neighbourhood,
  wants: readonly Want[],
  holders: readonly Grant[],
): Contention {
  return report(view, wants, holders, waitingWith(near, wants, null, view.now));
}

/** The others in line who stand in the way of these wants, or behind them. */
function waitingWith(near: Neighbourhood, wants: readonly Want[], mine: Ticket | null, now: Instant): Ticket[] {
  return near.tickets.filter((ticket) => ticket !== mine && ticketStands(ticket, now) && standsInTheWay(ticket, wants));
}

function report(
  view: LedgerView,
  wants: readonly Want[],
  holders: readonly Grant[],
  waiting: readonly Ticket[],
): Contention {
  const first = holders[0];
  const blocked =
    first === undefined
      ? undefined
      : wants.find((want) => want.resource === first.resource || conflictNode(first, want) !== null);
  const resource = blocked?.resource ?? wants[0]?.resource;
  if (resource === undefined) throw new RangeError("a request wants at least one key");
  return contentionReport(resource, holders, waiting, view.now);
}

/** The waiters to wake once `gone` is no longer held and `come` is. */
export function wakeAfter(
  view: LedgerView,
  near: Neighbourhood,
  context: OperationContext,
  { gone = [], come = [], left = null }: { gone?: readonly Grant[]; come?: readonly Grant[]; left?: Ticket | null },
): Ticket[] {
  if (near.tickets.length === 0) return [];
  const replaced = new Set([...gone, ...come].map((grant) => grant.lockId));
  const held = [...near.grants.filter((grant) => !replaced.has(grant.lockId)), ...come];
  const waiting = near.tickets.filter((ticket) => ticket.ticketId !== left?.ticketId);
  return nextInLine(waiting, held, view.now, context.witness);
}
