/**
 * Tickets as rows: one for each key that a ticket wants, in the order in which they are served. A step reads as much of a
 * queue as it needs, a few rows at a time. A row that cannot be read is not counted as a ticket.
 */
import type { Ticket } from "../../../lock/grant.js";
import { ancestorsOf, type Key, treeOf } from "../../../lock/key.js";
import { type Line, lineOf } from "../../../lock/queue.js";
import { placesIn } from "../../local/first-tickets.js";
import { decodeTicket, encodeTicket } from "../../local/grant-codec.js";
import type { Database } from "../connection/database.js";
import type { Row, Statement } from "../connection/statement.js";

/** Mostly the first in line is all that is asked for. */
const FIRST_ROWS = 1;
const MORE_ROWS = 32;
/** Beyond this many, the numbers of those who waited are forgotten. */
const MOST_NUMBERS = 10_000;

export class TicketRows {
  readonly #put: Statement;
  readonly #delete: Statement;
  readonly #selectAt: Statement;
  readonly #selectBelow: Statement;
  readonly #selectOn: Statement;
  readonly #selectOf: Statement;
  readonly #selectNumbered: Statement;
  readonly #count: Statement;
  readonly #selectKeys: Statement;
  /** Of tickets that were written here: by its number alone a place is found without reading the line. */
  readonly #numbers = new Map<string, number>();

  constructor(database: Database) {
    const select = "SELECT number, ticket_id, ticket FROM tickets WHERE resource";
    this.#put = database.prepare(
      "INSERT OR REPLACE INTO tickets (resource, number, ticket_id, ticket) VALUES (?, ?, ?, ?)",
    );
    this.#delete = database.prepare("DELETE FROM tickets WHERE resource = ? AND number = ? AND ticket_id = ?");
    this.#selectAt = database.prepare(`${select} = ?`);
    this.#selectBelow = database.prepare(`${select} > ? AND resource < ?`);
    this.#selectOn = database.prepare(
      `${select} = ? AND (number, ticket_id) > (?, ?) ORDER BY number, ticket_id LIMIT ?`,
    );
    this.#selectOf = database.prepare(`${select} = ? AND ticket_id = ?`);
    this.#selectNumbered = database.prepare(`${select} = ? AND number = ? AND ticket_id = ?`);
    this.#count = database.prepare("SELECT count(*) FROM (SELECT 1 FROM tickets WHERE resource = ? LIMIT ?)");
    this.#selectKeys = database.prepare("SELECT DISTINCT resource FROM tickets");
  }

  put(ticket: Ticket): void {
    const text = encodeTicket(ticket);
    if (this.#numbers.size >= MOST_NUMBERS) this.#numbers.clear();
    this.#numbers.set(ticket.ticketId, ticket.number);
    for (const { resource } of ticket.wants) this.#put.get(resource, ticket.number, ticket.ticketId, text);
  }

  drop({ wants, number, ticketId }: Ticket): void {
    this.#numbers.delete(ticketId);
    for (const { resource } of wants) this.#delete.get(resource, number, ticketId);
  }

  /** Who wants the key, something above it or something below it. To be read in the same transaction. */
  lineAround(key: Key): Line {
    const elsewhere = new Map<string, Ticket>();
    this.#findElsewhere(key, elsewhere);
    if (elsewhere.size === 0) return new LineOfKey(key, this);
    collect(this.#selectAt.all(key), elsewhere);
    return lineOf(elsewhere.values());
  }

  /** Adds the tickets that want the key, something above it or something below it. */
  findAround(key: Key, found: Map<string, Ticket>): void {
    this.#findElsewhere(key, found);
    collect(this.#selectAt.all(key), found);
  }

  #findElsewhere(key: Key, found: Map<string, Ticket>): void {
    for (const node of ancestorsOf(key)) collect(this.#selectAt.all(node), found);
    // `/` is followed by `0` in the order of bytes, so these are the keys below.
    collect(this.#selectBelow.all(`${key}/`, `${key}0`), found);
  }

  rowsAfter(key: Key, [number, ticketId]: Row, limit: number): Row[] {
    return this.#selectOn.all(key, number ?? 0, ticketId ?? "", limit);
  }

  /** One that cannot be read may stand beside the place that its waiter took instead. */
  rowsOf(key: Key, ticketId: string): Row[] {
    const number = this.#numbers.get(ticketId);
    const row = number === undefined ? undefined : this.#selectNumbered.get(key, number, ticketId);
    return row === undefined ? this.#selectOf.all(key, ticketId) : [row];
  }

  /** Everybody, as `Reader.waiting` tells them. */
  all(limit: number): Ticket[] {
    const trees = new Set(this.#selectKeys.all().map(([resource]) => treeOf(resource as Key)));
    const lineIn = (tree: Key): Line => {
      const found = new Map<string, Ticket>();
      this.findAround(tree, found);
      return lineOf(found.values());
    };
    return placesIn(trees, lineIn, limit);
  }

  countAt(key: Key, atMost: number): number {
    return this.#count.get(key, atMost)?.[0] as number;
  }
}

const BEFORE_ALL: Row = [-1, ""];

/** Those who want one key, and nobody wants anything above or below it. */
class LineOfKey implements Line {
  readonly within: Key;
  readonly #rows: TicketRows;
  readonly #read: Ticket[] = [];
  #last = BEFORE_ALL;
  #isAllRead = false;

  constructor(key: Key, rows: TicketRows) {
    this.within = key;
    this.#rows = rows;
  }

  get isEmpty(): boolean {
    return !this.#hasRead(0);
  }

  countTo(atMost: number): number {
    return this.#rows.countAt(this.within, atMost);
  }

  find(ticketId: string): Ticket | null {
    for (const row of this.#rows.rowsOf(this.within, ticketId)) {
      const ticket = ticketIn(row);
      // mutant: row-beside-unreadable: if (ticket !== null) return ticket; → return ticket;
      if (ticket !== null) return ticket;
    }
    return null;
  }

  *[Symbol.iterator](): Iterator<Ticket> {
    for (let at = 0; this.#hasRead(at); at += 1) yield this.#read[at] as Ticket;
  }

  #hasRead(at: number): boolean {
    while (at >= this.#read.length && !this.#isAllRead) {
      const limit = this.#last === BEFORE_ALL ? FIRST_ROWS : MORE_ROWS;
      const rows = this.#rows.rowsAfter(this.within, this.#last, limit);
      this.#isAllRead = rows.length < limit;
      this.#last = rows.at(-1) ?? this.#last;
      for (const row of rows) {
        const ticket = ticketIn(row);
        if (ticket !== null) this.#read.push(ticket);
      }
    }
    return at < this.#read.length;
  }
}

function collect(rows: readonly Row[], found: Map<string, Ticket>): void {
  for (const row of rows) {
    const ticket = ticketIn(row);
    if (ticket !== null) found.set(ticket.ticketId, ticket);
  }
}

function ticketIn([, , text]: Row): Ticket | null {
  try {
    return decodeTicket(text as string);
  } catch {
    return null;
  }
}
