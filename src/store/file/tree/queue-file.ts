/**
 * The queue of a tree: each ticket is a line of JSON. A new ticket is written after the last, the first byte of a ticket
 * that is given up becomes a blank, and one that is refreshed is rewritten in place, for which it has blanks at its end. So
 * a step writes only the part of the queue that it changes, and parses only the part that it reads, however many wait. When
 * more than half of the file was given up, the rest moves to its beginning, and blanks replace it. When the first tickets
 * stay while others come and go behind them, that is checked whenever the file has doubled.
 *
 * The file is not part of any commit. A line that a crash left half-written does not count as a ticket, because it does not
 * end as it begins, and its waiter makes a new one. A crash in the middle of a move can leave a ticket twice: the second is
 * not behind the one before it and is ignored; both are given up together.
 */
import { closeSync, ftruncateSync, readSync } from "node:fs";
import { isNamed, writeFully } from "../../../files/durable-file.js";
import { type FolderNames, KnownName } from "../../../files/folder-names.js";
import type { Ticket } from "../../../lock/grant.js";
import type { Key } from "../../../lock/key.js";
import { byNumber, type Line } from "../../../lock/queue.js";
import { openOrMake } from "../../../platform/folder-rights.js";
import { decodeTicket, encodeTicket } from "../../local/grant-codec.js";

/** So much that was given up is not worth moving the rest for, nor cutting a file down to. */
const SHORT = 4_096;
const LONG = 65_536;
/** So many blanks at the end of a place leave room for any later time of its waiter. */
const ROOM = " ".repeat(24);

const EMPTY = Buffer.alloc(0);
const BLANK = Buffer.from(" ");
const NEWLINE = 0x0a;
const CLOSING_BRACE = 0x7d;
/** A place that is taken begins so, and nothing else does: JSON has no line breaks of its own. */
const PLACE = Buffer.from("\n{");
const BEGINNING = /^\{"id":("[^"\\]*"),"n":(\d{1,15}),/;

export class LineFile implements Line {
  readonly path: string;
  readonly within: Key;
  readonly #name: KnownName;
  #fd = -1;
  /** What the file was last seen to hold, at the beginning of `#bytes`, and where its last place ends. */
  #bytes: Buffer = EMPTY;
  #spare: Buffer = EMPTY;
  #size = 0;
  #end = 0;
  /** What was understood of it, by where it stands. */
  readonly #tickets = new Map<number, Ticket | null>();

  constructor(path: string, tree: Key, names: FolderNames | null = null) {
    this.path = path;
    this.within = tree;
    this.#name = new KnownName(names);
  }

  /** Before anything is asked of it or changed, in each step. */
  read(): Line {
    this.#open();
    let size = readSync(this.#fd, this.#spare, 0, this.#spare.length, 0);
    while (size === this.#spare.length) {
      this.#spare = Buffer.allocUnsafeSlow(Math.max(4 * SHORT, 2 * this.#spare.length));
      size = readSync(this.#fd, this.#spare, 0, this.#spare.length, 0);
    }
    if (size === this.#size && this.#spare.compare(this.#bytes, 0, size, 0, size) === 0) return this;
    [this.#bytes, this.#spare] = [this.#spare, this.#bytes];
    this.#see(size);
    return this;
  }

  get isEmpty(): boolean {
    return this.#placeFrom(0) < 0;
  }

  countTo(atMost: number): number {
    let count = 0;
    for (let at = this.#placeFrom(0); at >= 0 && count < atMost; at = this.#placeFrom(at)) count += 1;
    return count;
  }

  /** Higher than the number of whoever waits. */
  get nextNumber(): number {
    const last = this.#bytes.subarray(0, this.#end).lastIndexOf(PLACE);
    return 1 + (last < 0 ? 0 : (this.#numberAt(last + 1) ?? this.#highestNumber()));
  }

  find(ticketId: string): Ticket | null {
    const at = this.#wholePlaceOf(ticketId);
    return at < 0 ? null : this.#ticketAt(at);
  }

  /** Not a generator: mostly only the first one is asked for. */
  [Symbol.iterator](): Iterator<Ticket> {
    let at = 0;
    let last: Ticket | null = null;
    const next = (): IteratorResult<Ticket> => {
      for (at = this.#placeFrom(at); at >= 0; at = this.#placeFrom(at)) {
        const ticket = this.#ticketAt(at);
        // mutant: place-out-of-turn: || (last !== null && byNumber(last, ticket) >= 0)) continue; → ) continue;
        if (ticket === null || (last !== null && byNumber(last, ticket) >= 0)) continue;
        last = ticket;
        return { done: false, value: ticket };
      }
      return { done: true, value: undefined };
    };
    return { next };
  }

  /** `adds` have no place here once those of `drops` are given up; `updates` may. */
  change(drops: readonly Ticket[], adds: readonly Ticket[], updates: readonly Ticket[]): void {
    const endedAt = this.#end;
    try {
      for (const { ticketId } of drops) this.#giveUp(ticketId);
      for (const ticket of adds) this.#add(textOf(ticket), ticket);
      for (const ticket of updates) this.#update(ticket);
      this.#moveUp(endedAt);
    } catch (error) {
      this.#see(0);
      throw error;
    }
  }

  close(): void {
    if (this.#fd >= 0) closeSync(this.#fd);
    this.#fd = -1;
    this.#name.forget();
    this.#see(0);
  }

  #giveUp(ticketId: string): void {
    // mutant: place-twice: at >= 0; at = this.#placeOf(ticketId, at)) { → at >= 0; at = -1) {
    for (let at = this.#placeOf(ticketId, 0); at >= 0; at = this.#placeOf(ticketId, at)) {
      BLANK.copy(this.#bytes, at);
      this.#tickets.delete(at);
      writeFully(this.#fd, BLANK, at);
    }
  }

  /** Under another number it stands elsewhere in the line: written where it stood, it would hide those behind it. */
  #update(ticket: Ticket): void {
    const text = textOf(ticket);
    const at = this.#wholePlaceOf(ticket.ticketId);
    // mutant: place-hides-others: = at >= 0 && this.#ticketAt(at)?.number === ticket.number; → = at >= 0;
    const isKept = at >= 0 && this.#ticketAt(at)?.number === ticket.number;
    const room = isKept ? this.#bytes.indexOf(NEWLINE, at) - at : 0;
    if (Buffer.byteLength(text) <= room) {
      this.#writeAt(at, text, room);
      return;
    }
    this.#giveUp(ticket.ticketId);
    this.#add(text, ticket);
  }

  #add(text: string, ticket: Ticket): void {
    if (ticket.number >= this.nextNumber) this.#append(text, ticket);
    else this.#writeAnew([...this, ticket]);
  }

  #append(text: string, ticket: Ticket): void {
    const from = this.#end;
    const place = from === 0 ? `\n${text}${ROOM}\n` : `${text}${ROOM}\n`;
    this.#makeRoom(from + Buffer.byteLength(place));
    this.#end += this.#bytes.write(place, from);
    this.#size = Math.max(this.#size, this.#end);
    this.#tickets.set(Math.max(from, 1), ticket);
    writeFully(this.#fd, this.#bytes.subarray(from, this.#end), from);
  }

  #writeAt(at: number, text: string, room: number): void {
    const length = this.#bytes.write(text, at);
    this.#bytes.fill(BLANK, at + length, at + room);
    this.#tickets.delete(at);
    writeFully(this.#fd, this.#bytes.subarray(at, at + room), at);
  }

  #writeAnew(tickets: Ticket[]): void {
    const lines = tickets.sort(byNumber).map((each) => `${textOf(each)}${ROOM}\n`);
    this.#overwrite(Buffer.from(`\n${lines.join("")}`));
  }

  #moveUp(endedAt: number): void {
    const first = this.#placeFrom(0) - 1;
    const start = first < 0 ? this.#end : first;
    if (start > Math.max(SHORT, this.#end - start))
      this.#overwrite(Buffer.from(this.#bytes.subarray(start, this.#end)));
    // mutant: line-behind-one-who-stays: else if (hasDoubled(endedAt, this.#end)) this.#closeUp(); →
    else if (hasDoubled(endedAt, this.#end)) this.#closeUp();
  }

  #closeUp(): void {
    const places: Buffer[] = [];
    for (let at = this.#placeFrom(0); at >= 0; at = this.#placeFrom(at))
      if (this.#ticketAt(at) !== null) places.push(this.#bytes.subarray(at - 1, this.#bytes.indexOf(NEWLINE, at)));
    const content = Buffer.concat([...places, Buffer.of(NEWLINE)]);
    if (this.#end > 2 * content.length) this.#overwrite(content);
  }

  /** A file that was very much longer is cut, last of all. */
  #overwrite(content: Buffer): void {
    const isCut = this.#size > Math.max(LONG, 4 * content.length);
    const size = isCut ? content.length : Math.max(this.#size, content.length);
    this.#makeRoom(size);
    content.copy(this.#bytes);
    if (size > content.length) {
      this.#bytes.fill(BLANK, content.length, size - 1);
      this.#bytes[size - 1] = NEWLINE;
    }
    writeFully(this.#fd, this.#bytes.subarray(0, size), 0);
    if (isCut) ftruncateSync(this.#fd, size);
    this.#see(size);
  }

  #makeRoom(length: number): void {
    if (length <= this.#bytes.length) return;
    const longer = Buffer.alloc(2 * length);
    this.#bytes.copy(longer, 0, 0, this.#size);
    this.#bytes = longer;
  }

  /** Blanks behind the last place are room for the next one. */
  #see(size: number): void {
    this.#size = size;
    this.#tickets.clear();
    const seen = this.#bytes.subarray(0, size);
    const brace = seen.lastIndexOf(CLOSING_BRACE);
    this.#end = brace < 0 ? 0 : seen.indexOf(NEWLINE, brace) + 1 || seen.lastIndexOf(NEWLINE, brace) + 1;
  }

  /** Where the next place that is taken begins, or -1. */
  #placeFrom(at: number): number {
    return this.#indexOf(PLACE, at);
  }

  #placeOf(ticketId: string, from: number): number {
    return this.#indexOf(`\n${beginningOf(ticketId)}`, from);
  }

  /** What lies behind the end is no place, whatever it looks like. */
  #indexOf(beginning: string | Buffer, from: number): number {
    const at = this.#bytes.indexOf(beginning, from) + 1;
    return at < 1 || at >= this.#end ? -1 : at;
  }

  /** A crash can leave a piece of it before it. */
  #wholePlaceOf(ticketId: string): number {
    let at = this.#placeOf(ticketId, 0);
    // mutant: place-behind-its-piece: while (at >= 0 && this.#ticketAt(at) === null) → while (at < -1)
    while (at >= 0 && this.#ticketAt(at) === null) at = this.#placeOf(ticketId, at);
    return at;
  }

  #ticketAt(at: number): Ticket | null {
    let ticket = this.#tickets.get(at);
    if (ticket === undefined) {
      ticket = parsePlace(this.#textAt(at));
      this.#tickets.set(at, ticket);
    }
    return ticket;
  }

  /** Without understanding the rest: whoever comes asks for it. Null when only a piece is there. */
  #numberAt(at: number): number | null {
    const known = this.#tickets.get(at);
    return known === undefined ? numberIn(this.#textAt(at)) : (known?.number ?? null);
  }

  #textAt(at: number): string {
    return this.#bytes.toString("utf8", at, this.#bytes.indexOf(NEWLINE, at));
  }

  #highestNumber(): number {
    let number = 0;
    for (const ticket of this) number = ticket.number;
    return number;
  }

  /** Somebody may have taken the file away. */
  #open(): void {
    // mutant: line-kept-elsewhere: !isNamed(this.#fd, this.path)) this.close(); → this.#fd < 0) this.close();
    if (this.#fd >= 0 && !this.#name.holds && !isNamed(this.#fd, this.path)) this.close();
    if (this.#fd < 0) {
      this.#fd = openOrMake(this.path);
    }
    this.#name.note();
  }
}

/** All places in the text of such a file, as they are served. */
export function parsePlaces(text: string): Ticket[] {
  const tickets: Ticket[] = [];
  for (const line of text.split("\n")) {
    const ticket = line.startsWith("{") ? parsePlace(line) : null;
    const last = tickets.at(-1);
    if (ticket !== null && (last === undefined || byNumber(last, ticket) < 0)) tickets.push(ticket);
  }
  return tickets;
}

function hasDoubled(before: number, after: number): boolean {
  return Math.clz32(after) < Math.clz32(Math.max(before, SHORT));
}

function beginningOf(ticketId: string): string {
  return `{"id":${JSON.stringify(ticketId)},`;
}

/** It ends with what it began with: pieces of two places never pass for one. */
function textOf(ticket: Ticket): string {
  return `${encodeTicket(ticket).slice(0, -1)}${endOf(JSON.stringify(ticket.ticketId))}`;
}

function endOf(id: string): string {
  return `,"end":${id}}`;
}

/** Null for a piece of a place, and for one that other hands wrote in another way. */
function numberIn(place: string): number | null {
  const [, id, number] = BEGINNING.exec(place) ?? [];
  return id !== undefined && place.trimEnd().endsWith(endOf(id)) ? Number(number) : null;
}

function parsePlace(text: string): Ticket | null {
  try {
    const stored: unknown = JSON.parse(text);
    const ticket = decodeTicket(stored);
    // mutant: place-of-two-pieces: .end === ticket.ticketId ? ticket : null; → .end === undefined ? null : ticket;
    return (stored as { end?: unknown }).end === ticket.ticketId ? ticket : null;
  } catch {
    return null;
  }
}
