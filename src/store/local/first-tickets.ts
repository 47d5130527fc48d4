/** Collects the first tickets of several trees. */
import type { Ticket } from "../../lock/grant.js";
import type { Key } from "../../lock/key.js";

/** The places in these trees, as `Reader.waiting` tells them. A tree is read only while more are asked for. */
export function placesIn(trees: Iterable<Key>, lineOf: (tree: Key) => Iterable<Ticket>, limit: number): Ticket[] {
  const told = new Map<string, Ticket>();
  for (const tree of [...trees].sort())
    for (const ticket of lineOf(tree)) {
      if (!told.has(ticket.ticketId)) told.set(ticket.ticketId, ticket);
      if (told.size === limit) return [...told.values()];
    }
  return [...told.values()];
}
