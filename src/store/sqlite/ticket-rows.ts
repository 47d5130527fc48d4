/** Places in line, one row for each key a ticket wants. */
import type { Ticket } from "../../lock/grant.js";
import { type Key, nodesOf } from "../../lock/key.js";
import { decodeTicket, encodeTicket } from "../grant-codec.js";
import type { Database } from "./database.js";
import type { Row, Statement } from "./statement.js";

/** Beyond this many, what was read before is forgotten. */
const MOST_KNOWN = 5_000;

export class TicketRows {
  readonly #put: Statement;
  readonly #delete: Statement;
  readonly #selectAt: Statement;
  readonly #selectBelow: Statement;
  /** By their text: in a long line each step reads many, and most are as they were. */
  readonly #known = new Map<string, Ticket>();

  constructor(database: Database) {
    this.#put = database.prepare("INSERT OR REPLACE INTO tickets (resource, ticket_id, ticket) VALUES (?, ?, ?)");
    this.#delete = database.prepare("DELETE FROM tickets WHERE resource = ? AND ticket_id = ?");
    this.#selectAt = database.prepare("SELECT ticket FROM tickets WHERE resource = ?");
    this.#selectBelow = database.prepare("SELECT ticket FROM tickets WHERE resource > ? AND resource < ?");
  }

  put(ticket: Ticket): void {
    const text = encodeTicket(ticket);
    for (const { resource } of ticket.wants) this.#put.get(resource, ticket.ticketId, text);
  }

  drop(ticket: Ticket): void {
    for (const { resource } of ticket.wants) this.#delete.get(resource, ticket.ticketId);
  }

  /** Adds the tickets that want the key, something above it or something below it. */
  findAround(key: Key, found: Map<string, Ticket>): void {
    for (const node of nodesOf(key)) this.#collect(this.#selectAt.all(node), found);
    // `/` is followed by `0` in the order of bytes, so these are the keys below.
    this.#collect(this.#selectBelow.all(`${key}/`, `${key}0`), found);
  }

  #collect(rows: readonly Row[], found: Map<string, Ticket>): void {
    for (const [text] of rows) {
      const ticket = this.#decoded(text as string);
      found.set(ticket.ticketId, ticket);
    }
  }

  #decoded(text: string): Ticket {
    let ticket = this.#known.get(text);
    if (ticket === undefined) {
      if (this.#known.size >= MOST_KNOWN) this.#known.clear();
      ticket = decodeTicket(text);
      this.#known.set(text, ticket);
    }
    return ticket;
  }
}
