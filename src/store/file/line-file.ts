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

export const NOBODY: readonly Ticket[] = [];

export class LineFile {
  readonly path: string;
  #fd = -1;
  #bytes: Buffer = Buffer.alloc(0);
  #tickets: readonly Ticket[] = NOBODY;

  constructor(path: string) {
    this.path = path;
  }

  read(): readonly Ticket[] {
    const bytes = Buffer.allocUnsafe(this.#open());
    const length = readSync(this.#fd, bytes, 0, bytes.length, 0);
    const found = bytes.subarray(0, length);
    if (!found.equals(this.#bytes)) {
      this.#bytes = found;
      this.#tickets = parseLine(found.toString());
    }
    return this.#tickets;
  }

  /**
   * A line that got shorter is filled up with blanks, which costs less than cutting the file. Where it is cut, that comes
   * last: until then the old rest stands behind a closing bracket, and is no JSON either.
   */
  write(tickets: readonly Ticket[]): void {
    const size = this.#open();
    const text = `[${tickets.map(textOf).join(",\n")}]`;
    const length = Buffer.byteLength(text) + 1;
    const isCut = size > SHORT && size > 2 * length;
    const bytes = Buffer.alloc(isCut ? length : Math.max(size, length), " ");
    bytes.write(text);
    bytes.write("\n", bytes.length - 1);
    writeFully(this.#fd, bytes, 0);
    if (isCut) ftruncateSync(this.#fd, length);
    this.#bytes = bytes;
    this.#tickets = tickets;
  }

  close(): void {
    if (this.#fd >= 0) closeSync(this.#fd);
    this.#fd = -1;
    this.#bytes = Buffer.alloc(0);
    this.#tickets = NOBODY;
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
