/**
 * Puts a request into the queue: makes a ticket, keeps it fresh, gives it up, and finds the waiters to wake after a
 * change.
 */
import { randomUUID } from "node:crypto";
import { type Contention, contentionReport } from "../../lock/contention.js";
import type { Decision, Neighbourhood } from "../../lock/decide.js";
import type { Bid, Grant, Ticket, Want } from "../../lock/grant.js";
import type { Key } from "../../lock/key.js";
import { conflictNode } from "../../lock/marks.js";
import { patiently, TICKET_LEASE_MS, ticketStands } from "../../lock/profile.js";
import { byNumber, lineWithout, NOBODYS_TURN, nextInLine, standsInTheWay, type Turn } from "../../lock/queue.js";
import { elapsedMs } from "../../lock/time.js";
import type { Answer, InTheWay, Party, Waiting } from "../contract.js";
import type { LedgerView, Outcome } from "../ledger.js";
import type { OperationContext } from "./context.js";

/** Refreshed this often at most, so that a waiter that looks often does not write often. */
const REFRESH_AFTER_MS = TICKET_LEASE_MS / 5;

/** From so many ahead on it makes no difference how many more there are. */
const MANY = 10;

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
  return ticketId === null ? null : near.line.find(ticketId);
}

/** The answer to a request that cannot go now: a place in line, or the conflict when it does not want to wait. */
export function standInLine(
  view: LedgerView,
  near: Neighbourhood,
  blocked: Blocked,
  request: QueuedRequest,
): Outcome<Answer> {
  const { ticket, wants, waiting } = request;
  if (waiting.waitMs <= 0) {
    const contention = reportContention(view, near, wants, blocked.holders, ticket);
    return { result: { kind: "conflict", contention }, changes: null };
  }
  const inTheWay = {
    resource: blockedKey(wants, blocked.holders),
    owner: blocked.holders[0]?.owner ?? blocked.behind?.owner ?? null,
  };
  return ticket !== null && ticketStands(ticket, view.now)
    ? keepPlace(view, near, ticket, wants, inTheWay)
    : takePlace(view, near, request, inTheWay);
}

/** Behind everybody: who of them still stands there need not be known. */
function takePlace(view: LedgerView, near: Neighbourhood, request: QueuedRequest, inTheWay: InTheWay): Outcome<Answer> {
  const { ticket: lapsed } = request;
  const ticket = newTicket(view, request);
  return {
    result: { kind: "queued", ticketId: ticket.ticketId, ahead: near.line.countTo(MANY), inTheWay },
    changes: { ticketAdds: [ticket], ticketDrops: lapsed === null ? [] : [lapsed] },
  };
}

function keepPlace(
  view: LedgerView,
  { line }: Neighbourhood,
  ticket: Ticket,
  wants: readonly Want[],
  inTheWay: InTheWay,
): Outcome<Answer> {
  const over: Ticket[] = [];
  let ahead = 0;
  for (const other of line) {
    if (!ticketStands(other, view.now)) over.push(other);
    else if (byNumber(other, ticket) >= 0 || ahead === MANY) break;
    else if (standsInTheWay(other, wants)) ahead += 1;
  }
  const result: Answer = { kind: "queued", ticketId: ticket.ticketId, ahead, inTheWay };
  const isFresh = Math.abs(elapsedMs(ticket.refreshedAt, view.now)) < REFRESH_AFTER_MS;
  if (isFresh && over.length === 0) return { result, changes: null };
  const refreshed = isFresh ? [] : [{ ...ticket, refreshedAt: view.now }];
  return { result, changes: { ticketUpdates: refreshed, ticketDrops: over } };
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

/** Queue length and all: the whole line is read for it. `mine` does not count. */
export function reportContention(
  view: LedgerView,
  near: Neighbourhood,
  wants: readonly Want[],
  holders: readonly Grant[],
  mine: Ticket | null = null,
): Contention {
  const { now } = view;
  const waiting = [...near.line].filter(
    (ticket) => ticket.ticketId !== mine?.ticketId && ticketStands(ticket, now) && standsInTheWay(ticket, wants),
  );
  return contentionReport(blockedKey(wants, holders), holders, waiting, now);
}

function blockedKey(wants: readonly Want[], [first]: readonly Grant[]): Key {
  const isBlocked = (want: Want): boolean =>
    first !== undefined && (want.resource === first.resource || conflictNode(first, want) !== null);
  const blocked = wants.find(isBlocked) ?? wants[0];
  if (blocked === undefined) throw new RangeError("a request wants at least one key");
  return blocked.resource;
}

interface Change {
  readonly gone?: readonly Grant[];
  readonly come?: readonly Grant[];
  /** The ticket of one who is no longer in line. */
  readonly left?: Ticket | null;
  /** Tells places that nobody stands in any more. */
  readonly hasGone?: (ticket: Ticket) => boolean;
}

/** Whose turn it is once `gone` is no longer held and `come` is. One who died a moment ago is noticed by those behind. */
export function wakeAfter(view: LedgerView, near: Neighbourhood, { witness }: OperationContext, change: Change): Turn {
  const { gone = [], come = [], left = null, hasGone = () => false } = change;
  if (near.line.isEmpty) return NOBODYS_TURN;
  const replaced = new Set([...gone, ...come].map((grant) => grant.lockId));
  const held = [...near.grants.filter((grant) => !replaced.has(grant.lockId)), ...come];
  const waiting = left === null ? near.line : lineWithout(near.line, (ticket) => ticket.ticketId === left.ticketId);
  return nextInLine(waiting, held, { now: view.now, witness: patiently(witness, view.now), hasGone });
}
