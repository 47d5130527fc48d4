/** Collects the reads and changes of a step. Nothing of it is written before the step's function has returned. */
import { HoldfastError, invalidArgument, isHoldfastError } from "../../base/errors.js";
import { decodeDocument, encodeDocument, quarantine, readText, type StoredDocument } from "./document-file.js";
import { identityOf, type JournalRecord } from "./journal-record.js";
import { endOfLog, type LogEnd } from "./log-file.js";
import { checkName, documentPath, logPath } from "./names.js";
import type { Place } from "./settle.js";

/** The documents as they are now, and what shall become of them. Use it inside its step only. */
export interface Transaction {
  /** `E_STORE_CORRUPT` after moving a file aside that cannot be read; `E_FORMAT_UNSUPPORTED` leaves it alone. */
  get<V extends object>(id: string): StoredDocument<V> | null;
  /** As `get`, but a file that cannot be read stays where it is: for what is only looked at. */
  peek<V extends object>(id: string): StoredDocument<V> | null;
  /** Creates or replaces it; returns its new revision. A value equal to what is there changes nothing. */
  put(id: string, value: object): number;
  remove(id: string): void;
  /** Adds one line to `<log>.jsonl` and returns its `seq`, which stands first in the line. */
  append(log: string, entry: object): number;
}

interface Seen {
  readonly before: string | null;
  document: StoredDocument<object> | null;
  text: string | null;
}

interface Grown extends LogEnd {
  readonly lines: string[];
  last: number;
}

export class OpenTransaction implements Transaction {
  readonly #place: Place;
  readonly #seen = new Map<string, Seen>();
  readonly #logs = new Map<string, Grown>();
  #isOver = false;

  constructor(place: Place) {
    this.#place = place;
  }

  get<V extends object>(id: string): StoredDocument<V> | null {
    return this.#lookToWrite(id).document as StoredDocument<V> | null;
  }

  peek<V extends object>(id: string): StoredDocument<V> | null {
    return this.#look(id).document as StoredDocument<V> | null;
  }

  put(id: string, value: object): number {
    checkObject(value, "value", ["schema_version", "revision"]);
    const seen = this.#lookToWrite(id);
    const { document } = seen;
    if (document !== null && JSON.stringify(document.value) === JSON.stringify(value)) return document.revision;
    const revision = (document?.revision ?? 0) + 1;
    seen.text = encodeDocument({ revision, value });
    seen.document = decodeDocument(id, seen.text, id);
    return revision;
  }

  remove(id: string): void {
    Object.assign(this.#lookToWrite(id), { document: null, text: null });
  }

  append(log: string, entry: object): number {
    this.#assertOpen();
    checkObject(entry, "entry", ["seq"]);
    const path = logPath(this.#place.dir, checkName(log, "log"));
    const grown = this.#logs.get(log) ?? newlyGrown(endOfLog(path));
    this.#logs.set(log, grown);
    grown.last += 1;
    grown.lines.push(`${JSON.stringify({ seq: grown.last, ...entry })}\n`);
    return grown.last;
  }

  /** What it comes to, or null when nothing changes. Ends it. */
  finish(): JournalRecord | null {
    this.#isOver = true;
    const writes = [...this.#seen].flatMap(([id, { before, text }]) => {
      const after = text === null ? null : identityOf(text);
      return after === before ? [] : [{ id, before, after, text }];
    });
    const appends = [...this.#logs].map(([log, { size, isWhole, lines }]) => ({
      log,
      at: size,
      text: (isWhole ? "" : "\n") + lines.join(""),
    }));
    return writes.length + appends.length === 0 ? null : { writes, appends };
  }

  /** Moves a file out of the way that cannot be read. */
  #lookToWrite(id: string): Seen {
    try {
      return this.#look(id);
    } catch (error) {
      if (!isHoldfastError(error, "E_STORE_CORRUPT")) throw error;
      const path = documentPath(this.#place.dir, id);
      const place = quarantine(path, this.#place.now());
      throw new HoldfastError("E_STORE_CORRUPT", `${error.message}; it was moved to ${place}`, {
        cause: error,
        details: { ...error.details, quarantined: place },
        next: [`Mend ${place} and move it back to ${path}, or start the document anew.`],
      });
    }
  }

  #look(id: string): Seen {
    this.#assertOpen();
    const known = this.#seen.get(id);
    if (known !== undefined) return known;
    const path = documentPath(this.#place.dir, checkName(id, "id"));
    const text = readText(path);
    const before = text === null ? null : identityOf(text);
    const seen = { before, document: text === null ? null : decodeDocument(id, text, path), text };
    this.#seen.set(id, seen);
    return seen;
  }

  #assertOpen(): void {
    if (this.#isOver) throw invalidArgument("transaction", "it is over: use it inside its function only");
  }
}

function newlyGrown(end: LogEnd): Grown {
  return { ...end, lines: [], last: end.seq };
}

function checkObject(value: object, field: string, reserved: readonly string[]): void {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw invalidArgument(field, "an object of JSON values");
  for (const name of reserved)
    if (Object.hasOwn(value, name)) throw invalidArgument(field, `the store keeps ${name} itself`);
}
