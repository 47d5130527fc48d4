/**
 * Shows the circles of waiters that `explain` and `waits` report. A circle is named when each member's process, or its owner
 * where a lock is detached, holds what the one before it waits for. That is certain of a program that does one thing after
 * the other; a program of many tasks, or a person with two shells, may still release it.
 */
import { type Circle, circlesAmong, isHeldUpBy, keepersAmong, mayKeep } from "../../lock/circles.js";
import type { Grant, Ticket } from "../../lock/grant.js";
import type { Key } from "../../lock/key.js";
import { ticketStands } from "../../lock/profile.js";
import { isoTime } from "../../lock/time.js";
import type { Clock } from "../../platform/clock.js";
import type { Reader } from "../../store/contract.js";

/** A member of a circle: it holds what the one before it waits for. */
export interface CircleMember {
  readonly owner: string;
  readonly holder_id: string;
  readonly ticket_id: string;
  readonly waiting_since: string;
  readonly holds: { readonly lock_id: string; readonly resource: string; readonly mode: string };
  /** The key that it waits for, which the next member holds. */
  readonly waits_for: string;
}

/** The longest wait comes first; the last member waits for the first. */
export type WaitCircle = readonly CircleMember[];

/** So many waiters are looked through at most. */
const MOST_WAITERS = 50_000;

export function toWaitCircle(circle: Circle): WaitCircle {
  return circle.map(({ ticket, waitsFor }, at) => {
    const held = circle.at(at - 1)?.waitsFor ?? waitsFor;
    return {
      owner: ticket.owner,
      holder_id: ticket.holderId,
      ticket_id: ticket.ticketId,
      waiting_since: isoTime(ticket.enteredAt.wallMs),
      holds: { lock_id: held.lockId, resource: held.resource, mode: held.mode },
      waits_for: waitsFor.resource,
    };
  });
}

/** `agent:a holds k1 and waits for k2; agent:b holds k2 and waits for k1` */
export function circleText(circle: WaitCircle): string {
  const [only, ...others] = circle;
  if (only !== undefined && others.length === 0) return `${only.owner} holds ${only.waits_for} and waits for it`;
  return circle
    .map(({ owner, holds, waits_for }) => `${owner} holds ${holds.resource} and waits for ${waits_for}`)
    .join("; ");
}

/** Returns the circles among these waiters and what is held around the keys that they want. */
export function circlesOf(tickets: readonly Ticket[], grantsNear: (ticket: Ticket) => readonly Grant[]): WaitCircle[] {
  const known = new Map<Ticket, readonly Grant[]>();
  const holdersOf = (ticket: Ticket): readonly Grant[] => {
    const found = known.get(ticket) ?? holdingUp(ticket, grantsNear(ticket));
    known.set(ticket, found);
    return found;
  };
  return circlesAmong(tickets, holdersOf).map(toWaitCircle);
}

/** A waiter's own grants count only where nothing else is in its way: it may have presented them. */
function holdingUp(ticket: Ticket, near: readonly Grant[]): readonly Grant[] {
  const all = near.filter((grant) => isHeldUpBy(ticket, grant));
  const others = all.filter((grant) => !mayKeep(ticket, grant));
  return others.length > 0 ? others : all;
}

/**
 * Returns the circles that these waiters lead to. Reads the list of all waiters once, and from then on only around the keys
 * that those want who hold what is waited for.
 */
export async function circlesFrom(reader: Reader, clock: Clock, first: readonly Ticket[]): Promise<WaitCircle[]> {
  if (first.length === 0) return [];
  const now = clock();
  const standing = (await reader.waiting(MOST_WAITERS)).filter((ticket) => ticketStands(ticket, now));
  const near = new Map<Key, readonly Grant[]>();
  const found = new Map<string, Ticket>(first.map((ticket) => [ticket.ticketId, ticket]));
  const keepersOf = keepersAmong(standing);
  for (const ticket of found.values())
    for (const grant of holdingUp(ticket, await grantsNear(reader, ticket, near)))
      for (const other of keepersOf(grant)) if (!found.has(other.ticketId)) found.set(other.ticketId, other);
  return circlesOf([...found.values()], (ticket) => ticket.wants.flatMap(({ resource }) => near.get(resource) ?? []));
}

async function grantsNear(reader: Reader, { wants }: Ticket, near: Map<Key, readonly Grant[]>): Promise<Grant[]> {
  const found: Grant[] = [];
  for (const { resource } of wants) {
    const grants = near.get(resource) ?? (await reader.inspect(resource)).grants;
    near.set(resource, grants);
    found.push(...grants);
  }
  return found;
}
