/**
 * The queue. Tickets are served by number; a ticket holds back everything behind it that conflicts with what it wants,
 * so a waiting writer is not overtaken by readers for ever. Only the waiters that can go next are woken.
 */
import type { Grant, Ticket, Want } from "./grant.js";
import type { Key } from "./key.js";
import { conflictNode } from "./marks.js";
import { ticketStands, type Witness } from "./profile.js";
import type { Instant } from "./time.js";

/** Tickets as they are served. Reading on has its price in a long line, so whoever knows enough stops. */
export interface Line extends Iterable<Ticket> {
  readonly isEmpty: boolean;
  /** Everybody in it wants this key or one below it, so a writer of it closes the line behind him. Null: none is known. */
  readonly within: Key | null;
  /** How many places there are, also those in which nobody stands any more, counted up to `atMost`. */
  countTo(atMost: number): number;
  find(ticketId: string): Ticket | null;
}

export function byNumber(a: Ticket, b: Ticket): number {
  return a.number - b.number || (a.ticketId < b.ticketId ? -1 : 1);
}

/** A line of tickets that are at hand, in any order. */
export function lineOf(tickets: Iterable<Ticket>): Line {
  return new ListedLine([...tickets].sort(byNumber));
}

class ListedLine implements Line {
  readonly within = null;
  readonly #tickets: readonly Ticket[];

  constructor(tickets: readonly Ticket[]) {
    this.#tickets = tickets;
  }

  get isEmpty(): boolean {
    return this.#tickets.length === 0;
  }

  countTo(atMost: number): number {
    return Math.min(atMost, this.#tickets.length);
  }

  find(ticketId: string): Ticket | null {
    return this.#tickets.find((ticket) => ticket.ticketId === ticketId) ?? null;
  }

  [Symbol.iterator](): Iterator<Ticket> {
    return this.#tickets[Symbol.iterator]();
  }
}

export const NOBODY_WAITS: Line = new ListedLine([]);

/** The line without those whom `isOut` names. */
export function lineWithout(line: Line, isOut: (ticket: Ticket) => boolean): Line {
  return new ThinnedLine(line, isOut);
}

class ThinnedLine implements Line {
  readonly within: Key | null;
  readonly #line: Line;
  readonly #isOut: (ticket: Ticket) => boolean;

  constructor(line: Line, isOut: (ticket: Ticket) => boolean) {
    this.within = line.within;
    this.#line = line;
    this.#isOut = isOut;
  }

  get isEmpty(): boolean {
    for (const _ of this) return false;
    return true;
  }

  countTo(atMost: number): number {
    let count = 0;
    for (const _ of this) {
      count += 1;
      if (count === atMost) break;
    }
    return count;
  }

  find(ticketId: string): Ticket | null {
    const found = this.#line.find(ticketId);
    return found === null || this.#isOut(found) ? null : found;
  }

  *[Symbol.iterator](): Iterator<Ticket> {
    for (const ticket of this.#line) if (!this.#isOut(ticket)) yield ticket;
  }
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

export interface Turn {
  /** Those whom nobody ahead of them holds back and whom what is held now lets in. */
  readonly next: readonly Ticket[];
  /** Places in which nobody stands any more, as far as the line was read. */
  readonly over: readonly Ticket[];
}

export const NOBODYS_TURN: Turn = { next: [], over: [] };

/** Whose turn it is after something changed. The dead are passed over. */
export function nextInLine(
  line: Line,
  held: readonly Grant[],
  { now, witness, hasGone }: { now: Instant; witness: Witness; hasGone: (ticket: Ticket) => boolean },
): Turn {
  const closes = ({ resource, mode, permits }: Want): boolean =>
    // mutant: line-closed-too-soon: === line.within && mode → .startsWith(line.within ?? " ") && mode
    resource === line.within && mode === "write" && permits === null;
  if (held.some(closes)) return NOBODYS_TURN;
  const ahead: Ticket[] = [];
  const next: Ticket[] = [];
  const over: Ticket[] = [];
  for (const ticket of line) {
    if (!ticketStands(ticket, now) || hasGone(ticket)) {
      over.push(ticket);
      continue;
    }
    const heldBack = ahead.some((other) => standsInTheWay(other, ticket.wants));
    const mayGo = !heldBack && !held.some((grant) => blocksTicket(grant, ticket));
    if (mayGo && witness.life(ticket) === "dead") continue;
    if (mayGo) next.push(ticket);
    ahead.push(ticket);
    if (ticket.wants.some(closes)) break;
  }
  return { next, over };
}

function blocksTicket(grant: Grant, ticket: Ticket): boolean {
  return grant.lockId !== ticket.upgradeOf && ticket.wants.some((want) => conflictNode(grant, want) !== null);
}
