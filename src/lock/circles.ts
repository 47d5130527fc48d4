/**
 * Finds circles of waiters, pure: each member waits for a grant of the next, which keeps it until its own wait ends. Whether
 * a waiter keeps a grant is the caller's judgment: for a report its process has it and had it before (`mayKeep`), for a
 * refusal the waiter itself has said so in its ticket (`keeps`). Places of a semaphore make no circle: another place may
 * become free.
 */
import type { Grant, Ticket } from "./grant.js";
import { conflictNode } from "./marks.js";

/** A waiter, and the grant of the next member that it waits for. */
interface CircleLink {
  readonly ticket: Ticket;
  readonly waitsFor: Grant;
}

/** The last member waits for the first one. */
export type Circle = readonly CircleLink[];

/** Whether the waiter has said that it keeps the grant until its wait ends. */
function keeps({ kept }: Ticket, { lockId }: Grant): boolean {
  return kept?.some((each) => each.lockId === lockId) ?? false;
}

/**
 * Whether the waiter may be what the grant's release waits for: the same process held it before, or, where a process does
 * not hold it or shares it with a command, the same owner.
 */
export function mayKeep(ticket: Ticket, grant: Grant): boolean {
  const { proof } = grant;
  const isOwners = grant.detached || (proof.kind === "file" && proof.inherited);
  const isSame = isOwners ? grant.owner === ticket.owner : grant.nonce === ticket.nonce;
  // mutant: circle-later-grant: isSame && grant.createdAt <= ticket.enteredAt.wallMs → isSame
  return isSame && grant.createdAt <= ticket.enteredAt.wallMs;
}

/** Whether the waiter cannot go as long as the grant is there. */
export function isHeldUpBy(ticket: Pick<Ticket, "wants" | "upgradeOf">, grant: Grant): boolean {
  return grant.lockId !== ticket.upgradeOf && ticket.wants.some((want) => conflictNode(grant, want) !== null);
}

/** A grant that a waiter waits for, and a waiter that keeps it. */
interface Step {
  readonly waitsFor: Grant;
  readonly next: Ticket;
}

type StepsFrom = (ticket: Ticket) => readonly Step[];

/** Returns a shortest circle that begins with this ticket, among waiters that have said what they keep; null when it is in none. */
export function circleThrough(
  first: Ticket,
  tickets: readonly Ticket[],
  holdersOf: (ticket: Ticket) => readonly Grant[],
): Circle | null {
  return shortest(first, (ticket) =>
    holdersOf(ticket).flatMap((waitsFor) =>
      tickets.filter((next) => keeps(next, waitsFor)).map((next) => ({ waitsFor, next })),
    ),
  );
}

function shortest(first: Ticket, stepsFrom: StepsFrom): Circle | null {
  /** How each ticket was reached: from which one, through which grant. */
  const reached = new Map<Ticket, CircleLink>();
  const waiting = [first];
  for (const ticket of waiting)
    for (const { waitsFor, next } of stepsFrom(ticket)) {
      if (reached.has(next)) continue;
      reached.set(next, { ticket, waitsFor });
      if (next === first) return linksBackFrom(first, reached);
      waiting.push(next);
    }
  return null;
}

function linksBackFrom(first: Ticket, reached: ReadonlyMap<Ticket, CircleLink>): Circle {
  const links: CircleLink[] = [];
  for (let at = first; links.length === 0 || at !== first; ) {
    const link = reached.get(at);
    if (link === undefined) break;
    links.unshift(link);
    at = link.ticket;
  }
  return links;
}

/** Returns circles until each waiter that is in one is a member of one of them. In each the longest wait comes first. */
export function circlesAmong(tickets: readonly Ticket[], holdersOf: (ticket: Ticket) => readonly Grant[]): Circle[] {
  const keepersOf = keepersAmong(tickets);
  const steps = new Map<Ticket, readonly Step[]>();
  for (const ticket of tickets)
    steps.set(
      ticket,
      holdersOf(ticket).flatMap((waitsFor) => keepersOf(waitsFor).map((next) => ({ waitsFor, next }))),
    );
  const circles: Circle[] = [];
  const members = new Set<Ticket>();
  for (const ticket of [...withoutEnds(steps)].sort(byEntry)) {
    const circle = members.has(ticket) ? null : shortest(ticket, (each) => steps.get(each) ?? []);
    if (circle === null) continue;
    for (const link of circle) members.add(link.ticket);
    circles.push(longestFirst(circle));
  }
  return circles;
}

/** Returns a function that finds the waiters that may keep a grant, without going through all of these. */
export function keepersAmong(tickets: readonly Ticket[]): (grant: Grant) => readonly Ticket[] {
  const byName = new Map<string, Ticket[]>();
  for (const ticket of tickets)
    for (const name of [ticket.nonce, ticket.owner]) {
      const others = byName.get(name);
      if (others === undefined) byName.set(name, [ticket]);
      else others.push(ticket);
    }
  const known = new Map<string, readonly Ticket[]>();
  return (grant) => {
    const keepers =
      known.get(grant.lockId) ??
      [...new Set([grant.nonce, grant.owner].flatMap((name) => byName.get(name) ?? []))].filter((ticket) =>
        mayKeep(ticket, grant),
      );
    known.set(grant.lockId, keepers);
    return keepers;
  };
}

/** Returns the tickets from which some way never ends: a waiter that waits for no other waiter is in no circle, and so on back. */
function withoutEnds(steps: ReadonlyMap<Ticket, readonly Step[]>): Set<Ticket> {
  const before = new Map<Ticket, Ticket[]>();
  const waysOn = new Map<Ticket, number>();
  for (const [ticket, ways] of steps) {
    waysOn.set(ticket, ways.length);
    for (const { next } of ways) {
      const known = before.get(next);
      if (known === undefined) before.set(next, [ticket]);
      else known.push(ticket);
    }
  }
  const left = new Set(steps.keys());
  const ends = [...left].filter((ticket) => waysOn.get(ticket) === 0);
  for (const end of ends) {
    left.delete(end);
    for (const ticket of before.get(end) ?? []) {
      const ways = (waysOn.get(ticket) ?? 0) - 1;
      waysOn.set(ticket, ways);
      if (ways === 0) ends.push(ticket);
    }
  }
  return left;
}

export function byEntry(a: Ticket, b: Ticket): number {
  return a.enteredAt.wallMs - b.enteredAt.wallMs || (a.ticketId < b.ticketId ? -1 : 1);
}

function longestFirst(circle: Circle): Circle {
  const oldest = [...circle].map(({ ticket }) => ticket).sort(byEntry)[0];
  const at = circle.findIndex(({ ticket }) => ticket === oldest);
  return [...circle.slice(at), ...circle.slice(0, at)];
}
