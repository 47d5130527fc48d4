/**
 * Who waits for something in a tree. Written in place whatever its size, and not part of any commit: a crash in the middle
 * leaves a file that is no JSON, which reads as an empty line, and whoever still waits takes a new place.
 */
import { closeSync, fstatSync, ftruncateSync, openSync, readSync } from "node:fs";
import type { Ticket } from "../../lock/grant.js";
import { writeFully } from "../../support/durable-file.js";
import { decodeTicket, encodeTicket } from "../grant-codec.js";

/** A file of this size is not worth cutting. */
const SHORT = 4096;

const EMPTY = Buffer.alloc(0);

export const NOBODY: readonly Ticket[] = [];

export class LineFile {
  readonly path: string;
  #fd = -1;
  /** What the file was last seen to hold, at the beginning of `#seen`. */
  #length = 0;
  #seen: Buffer = EMPTY;
  #spare: Buffer = EMPTY;
  #tickets: readonly Ticket[] = NOBODY;

  constructor(path: string) {
    this.path = path;
  }

  read(): readonly Ticket[] {
    const size = this.#open();
    this.#makeRoom(size);
    const length = readSync(this.#fd, this.#spare, 0, size, 0);
    if (length === this.#length && this.#spare.compare(this.#seen, 0, length, 0, length) === 0) return this.#tickets;
    this.#see(length, parseLine(this.#spare.toString("utf8", 0, length)));
    return this.#tickets;
  }

  /**
   * A line that got shorter is filled up with blanks, which costs less than cutting the file. Where it is cut, that comes
   * last: until then the old rest stands behind a closing bracket, and is no JSON either.
   */
  write(tickets: readonly Ticket[]): void {
    const size = this.#open();
    const text = `[${tickets.map(textOf).join(",\n")}]`;
    const needed = Buffer.byteLength(text) + 1;
    const isCut = size > SHORT && size > 2 * needed;
    const length = isCut ? needed : Math.max(size, needed);
    this.#makeRoom(length);
    this.#spare.write(text);
    this.#spare.fill(" ", needed - 1, length - 1);
    this.#spare.write("\n", length - 1);
    writeFully(this.#fd, this.#spare.subarray(0, length), 0);
    if (isCut) ftruncateSync(this.#fd, length);
    this.#see(length, tickets);
  }

  close(): void {
    if (this.#fd >= 0) closeSync(this.#fd);
    this.#fd = -1;
    this.#see(0, NOBODY);
  }

  #makeRoom(length: number): void {
    if (this.#spare.length < length) this.#spare = Buffer.allocUnsafeSlow(2 * length);
  }

  #see(length: number, tickets: readonly Ticket[]): void {
    [this.#seen, this.#spare] = [this.#spare, this.#seen];
    this.#length = length;
    this.#tickets = tickets;
  }

  /** Answers the size. */
  #open(): number {
    if (this.#fd >= 0) {
      const { nlink, size } = fstatSync(this.#fd);
      if (nlink > 0) return size;
      this.close();
    }
    closeSync(openSync(this.path, "a"));
    this.#fd = openSync(this.path, "r+");
    return fstatSync(this.#fd).size;
  }
}

export function parseLine(text: string): readonly Ticket[] {
  try {
    const tickets = (JSON.parse(text) as unknown[]).map((each) => decodeTicket(each));
    const lines = text.trimEnd().slice(1, -1).split(",\n");
    if (lines.length === tickets.length)
      for (const [at, ticket] of tickets.entries()) texts.set(ticket, lines[at] ?? "");
    return tickets;
  } catch {
    return NOBODY;
  }
}

/** Most tickets are written as they were read. */
const texts = new WeakMap<Ticket, string>();

function textOf(ticket: Ticket): string {
  let text = texts.get(ticket);
  if (text === undefined) {
    text = encodeTicket(ticket);
    texts.set(ticket, text);
  }
  return text;
}
