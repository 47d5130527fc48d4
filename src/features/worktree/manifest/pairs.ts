/**
 * Reads two manifests side by side: yields the entries that are only in one, only in the other, or in both. Pieces that
 * both share are not even read.
 */
import type { ObjectReader } from "../objects/object-reader.js";
import { comparePaths, type Entry } from "./entry.js";
import { entriesOfPiece, type Manifest } from "./manifest-reader.js";

export type Pair =
  | { readonly before: Entry; readonly after: null }
  | { readonly before: null; readonly after: Entry }
  | { readonly before: Entry; readonly after: Entry };

/** A manifest read entry by entry, which can step over the piece it stands at the beginning of. */
class Cursor {
  readonly #reader: ObjectReader;
  readonly #pieces: readonly string[];
  #piece = 0;
  #entries: Generator<Entry> | null = null;
  #current: Entry | null = null;

  constructor(reader: ObjectReader, { pieces }: Manifest) {
    this.#reader = reader;
    this.#pieces = pieces;
  }

  /** The piece that begins here, or null in the middle of one or at the end. */
  get beginning(): string | null {
    return this.#entries === null ? (this.#pieces[this.#piece] ?? null) : null;
  }

  get #isAtEnd(): boolean {
    return this.#entries === null && this.#piece >= this.#pieces.length;
  }

  stepOver(): void {
    this.#piece += 1;
  }

  get current(): Entry | null {
    while (this.#entries === null && !this.#isAtEnd) this.advance();
    return this.#current;
  }

  advance(): void {
    const piece = this.#pieces[this.#piece];
    if (this.#entries === null && piece !== undefined) this.#entries = entriesOfPiece(this.#reader, piece);
    const next = this.#entries?.next();
    this.#current = next === undefined || next.done === true ? null : next.value;
    if (this.#current === null && this.#entries !== null) {
      this.#entries = null;
      this.#piece += 1;
    }
  }
}

/** In order. With `all` also what is the same in both. */
export function* pairsOf(
  reader: ObjectReader,
  before: Manifest,
  after: Manifest,
  { all = false }: { readonly all?: boolean } = {},
): Generator<Pair> {
  const left = new Cursor(reader, before);
  const right = new Cursor(reader, after);
  for (;;) {
    while (!all && left.beginning !== null && left.beginning === right.beginning) {
      left.stepOver();
      right.stepOver();
    }
    const one = left.current;
    const other = right.current;
    if (one === null && other === null) return;
    const order = one === null ? 1 : other === null ? -1 : comparePaths(one.path, other.path);
    if (one !== null && other !== null && order === 0) yield { before: one, after: other };
    else if (one !== null && order < 0) yield { before: one, after: null };
    else if (other !== null && order > 0) yield { before: null, after: other };
    if (one !== null && order <= 0) left.advance();
    if (other !== null && order >= 0) right.advance();
  }
}
