/**
 * Documents that many processes change at once: plain JSON files in a folder, no lost update, no torn file.
 *
 * A step (`update`, `transact`):
 *
 *   1  the process enters the guard: one step at a time, of all processes (fair-entrance.ts)
 *   2  it settles what a crash has left (journal.ts, settle.ts)
 *   3  the caller's function reads, and returns the changes; it is synchronous, and all of read, change and write is
 *      inside the guard. It may throw: then nothing has happened
 *   4  one record is written into the journal: for each file, its content before (a hash) and after (in full)
 *   5  fdatasync of the journal. THIS IS THE COMMIT, and the only sync of a step
 *   6  each document is written to a private file, which changes places with the old one; lines are added to logs
 *   7  the journal's mark is moved behind the record; the guard is left
 *
 * A death or a power cut leaves, by the step after which it comes:
 *
 *   1, 2, 3   nothing new. The kernel frees the guard; settling again gives the same
 *   4         death: a record, whole or torn. The next step finishes a whole one (no caller has an answer yet) and writes
 *             over a torn one. Power cut: whole, torn or absent; the same
 *   5         the change is made. The next step writes the files; after a power cut readers see it at once, because they
 *             read the journal until it is settled
 *   6         some files new, some old. The next step writes the rest. Each single file is old or new at any instant
 *   7         done; after a power cut the files may have any content since they were last synced, and the next step
 *             writes them anew from the journal, which has kept every record since then
 *
 * When the journal is full, the files in it are synced and it begins anew (about once in a thousand steps).
 * Reading takes no guard, creates nothing, and sees of each document the old state or the new one.
 *
 * Not promised: that two documents read one after the other are of one moment; protection from programs that write these
 * files themselves (their changes are kept, not merged; but if such a program puts back an older content from the journal,
 * after a reboot that looks like the result of a power cut, and the journal's last content is written); more than one
 * machine.
 *
 * protocol: documents journal
 */
import { renameSync } from "node:fs";
import { join, resolve } from "node:path";
import { checkOptions, type OptionNames } from "../../base/check-options.js";
import { HoldfastError, invalidArgument, ioError } from "../../base/errors.js";
import { placeSynced } from "../../files/durable-file.js";
import { requireParent } from "../../files/required-folder.js";
import { type Clock, createSystemClock } from "../../platform/clock.js";
import { assertLocalFileSystem } from "../../platform/file-system.js";
import { makeFolder } from "../../platform/folder-rights.js";
import { isThere } from "../../platform/look-up.js";
import { decodeDocument, readText, type StoredDocument } from "./document-file.js";
import { Entrance } from "./fair-entrance.js";
import { isSettledIn, Journal, unsettledRecords } from "./journal.js";
import type { JournalRecord } from "./journal-record.js";
import { endOfLog, type LogEntry, readLog } from "./log-file.js";
import { checkName, documentIds, documentPath, logPath, privateFolder } from "./names.js";
import { apply, type Course, coursesOf, type Place, seenThrough, settle, syncFiles } from "./settle.js";
import { OpenTransaction, type Transaction } from "./transaction.js";
import { changesOf } from "./watch.js";

export type { StoredDocument } from "./document-file.js";
export type { LogEntry } from "./log-file.js";
export type { Transaction } from "./transaction.js";

/** Runs the step's writing under another guard as well, or refuses to. */
export type Around = <T>(write: () => T) => Promise<T>;

export interface UpdateOptions {
  /** The revision the caller has seen; 0 means that there is none. Another gives `E_REVISION_CONFLICT`. */
  readonly ifRevision?: number;
}

const UPDATE: OptionNames<UpdateOptions> = { ifRevision: true };
const LOG: OptionNames<{ readonly after?: number }> = { after: true };
const WATCH: OptionNames<{ readonly signal?: AbortSignal }> = { signal: true };

/** `E_STORE_UNAVAILABLE`, `E_IO`, `E_COMMIT_UNCERTAIN` may come from every change; `E_CONFIG` on a shared file system. */
export class Documents implements AsyncDisposable {
  readonly dir: string;
  readonly #clock: Clock;
  readonly #place: Place;
  #journal: Journal | null = null;
  #entrance: Entrance | null = null;
  #last: Promise<unknown> = Promise.resolve();
  /** Null once the files can be read as they are. */
  #unsettled: ReadonlyMap<string, Course> | null | undefined;
  #isClosed = false;

  /** @internal Use `openDocuments`. */
  constructor(dir: string, clock: Clock) {
    this.dir = dir;
    this.#clock = clock;
    this.#place = {
      dir,
      fresh: join(privateFolder(dir), "document.new"),
      now: () => new Date(clock().wallMs),
    };
  }

  /** The document as it is now, or null. `E_STORE_CORRUPT`, `E_FORMAT_UNSUPPORTED`; nothing is touched. */
  async get<V extends object>(id: string): Promise<StoredDocument<V> | null> {
    const path = documentPath(this.dir, checkName(id, "id"));
    const text = seenThrough(this.#courses()?.get(id), readText(path));
    return text === null ? null : decodeDocument(id, text, path);
  }

  /** Ids of all documents, or of those below a folder, sorted. */
  async list(prefix = ""): Promise<readonly string[]> {
    const ids = new Set(documentIds(this.dir, prefix === "" ? "" : checkName(prefix, "prefix")));
    for (const [id, { text }] of this.#courses() ?? []) {
      if (text === null) ids.delete(id);
      else if (prefix === "" || id.startsWith(`${prefix}/`)) ids.add(id);
    }
    return [...ids].sort();
  }

  /** @internal False from a power cut until the next change: then only `get` and `list` tell the whole truth. */
  get isSettled(): boolean {
    return this.#courses() === null;
  }

  /** Entries of a log behind this `seq`, oldest first. After a power cut the last may be missing until the next change. */
  async log(log: string, options: { readonly after?: number } = {}): Promise<readonly LogEntry[]> {
    checkOptions(options, LOG);
    const { after = 0 } = options;
    const { entries } = readLog(logPath(this.dir, checkName(log, "log")), 0);
    return entries.filter((entry) => entry.seq > after);
  }

  /** The number of a log's last entry; 0 when there is none. */
  async lastSeq(log: string): Promise<number> {
    return endOfLog(logPath(this.dir, checkName(log, "log"))).seq;
  }

  /**
   * Replaces a document by what `change` makes of it (null: there is none yet; returning null removes it), all in one
   * step. Returns the new state.
   */
  async update<V extends object>(
    id: string,
    change: (value: V | null) => V | null,
    options: UpdateOptions = {},
  ): Promise<StoredDocument<V> | null> {
    checkOptions(options, UPDATE);
    const { ifRevision } = options;
    return this.transact((tx) => {
      const found = tx.get<V>(id);
      if (ifRevision !== undefined) requireRevision(id, found?.revision ?? 0, ifRevision);
      const value = change(found === null ? null : structuredClone(found.value));
      if (value === null) tx.remove(id);
      else tx.put(id, value);
      return tx.get<V>(id);
    });
  }

  /** Runs `step`, which is synchronous, alone among all processes, and makes its changes as one. */
  async transact<T>(step: (tx: Transaction) => T): Promise<T> {
    return this.within((commit) => commit((write) => Promise.resolve(write()), step));
  }

  /**
   * @internal For features whose change needs a second guard: `work` runs while this store's guard is held, and `commit`
   * runs a step through `around`. The second guard is thus taken after this one, and held until the journal has it.
   */
  async within<T>(work: (commit: Commit) => Promise<T>): Promise<T> {
    const turn = this.#last.then(() => this.#inside(work));
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  /** The document at once and after every change of it, until the signal aborts. */
  watch<V extends object>(
    id: string,
    options: { readonly signal?: AbortSignal } = {},
  ): AsyncIterableIterator<StoredDocument<V> | null> {
    checkOptions(options, WATCH);
    return changesOf(
      this.dir,
      () => this.get<V>(id),
      // mutant: watch-by-revision: document) => JSON.stringify(document) → document) => document?.revision ?? 0
      (document) => JSON.stringify(document),
      options.signal,
    );
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#last;
    this.#journal?.close();
    this.#entrance?.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #inside<T>(work: (commit: Commit) => Promise<T>): Promise<T> {
    if (this.#isClosed) throw invalidArgument("documents", "they were closed");
    const { entrance, journal } = this.#open();
    // mutant: documents-guard: await entrance.enter(); → await Promise.resolve();
    await entrance.enter();
    try {
      this.#settle(journal);
      return await work((around, step) => around(() => this.#step(journal, step)));
    } finally {
      entrance.leave();
    }
  }

  #step<T>(journal: Journal, step: (tx: Transaction) => T): T {
    const transaction = new OpenTransaction(this.#place);
    const result = runAtOnce(() => step(transaction));
    const record = transaction.finish();
    if (record !== null) this.#commit(journal, record);
    return result;
  }

  #commit(journal: Journal, record: JournalRecord): void {
    if (!journal.fits(record)) this.#clear(journal, journal.records());
    journal.commit(record);
    try {
      apply(record, this.#place);
      journal.settled();
      if (journal.isOverfull) this.#clear(journal, journal.records());
    } catch (cause) {
      throw new HoldfastError(
        "E_COMMIT_UNCERTAIN",
        `the change is in the journal of ${this.dir}, but its files could not be written (${(cause as Error).message}); the next step will do it`,
        { cause, details: { path: this.dir } },
      );
    }
  }

  #settle(journal: Journal): void {
    const found = journal.look();
    if (found.kind === "last") {
      journal.sync();
      // mutant: documents-redo: settle([found.record], this.#place); →
      settle([found.record], this.#place);
      journal.settled();
    } else if (found.kind === "all") {
      settle(found.records, this.#place, found.suspect);
      this.#clear(journal, found.records);
    }
    this.#unsettled = null;
  }

  /** The files survive without the journal; it begins anew. */
  #clear(journal: Journal, records: readonly JournalRecord[]): void {
    try {
      // mutant: documents-clear-sync: syncFiles(records, this.dir); →
      syncFiles(records, this.dir);
    } catch (error) {
      journal.distrust();
      throw error;
    }
    journal.begin();
  }

  #courses(): ReadonlyMap<string, Course> | null {
    if (this.#unsettled === null) return null;
    const journal = join(privateFolder(this.dir), "journal");
    const { bootId } = this.#clock();
    // Nobody writes a record before the mark names this boot. So they are read once, and not for each document.
    // mutant: documents-journal-once: (journal, bootId) → (journal, bootId) || journal !== bootId
    if (this.#unsettled === undefined || isSettledIn(journal, bootId)) {
      const records = unsettledRecords(journal, bootId);
      this.#unsettled = records === null ? null : coursesOf(records);
    }
    return this.#unsettled;
  }

  #open(): { readonly entrance: Entrance; readonly journal: Journal } {
    if (this.#entrance === null || this.#journal === null) {
      const folder = privateFolder(this.dir);
      prepare(this.dir, folder);
      this.#entrance = new Entrance(join(folder, "guard"));
      this.#journal = new Journal(join(folder, "journal"), this.#clock);
    }
    return { entrance: this.#entrance, journal: this.#journal };
  }
}

/** Runs a step of the documents through another guard. */
export type Commit = <T>(around: Around, step: (tx: Transaction) => T) => Promise<T>;

/**
 * Opens the documents of a folder; nothing is created before the first change. `E_INVALID_ARGUMENT` unless the folder
 * around it is there.
 */
export function openDocuments(dir: string): Documents {
  if (typeof dir !== "string" || dir === "") throw invalidArgument("dir", "a path");
  const folder = resolve(dir);
  requireParent(folder, "dir");
  return new Documents(folder, createSystemClock());
}

function prepare(dir: string, folder: string): void {
  try {
    makeFolder(folder);
    assertLocalFileSystem(dir);
    const ignore = join(folder, ".gitignore");
    if (!isThere(ignore)) placeSynced(ignore, Buffer.from("*\n"), renameSync);
  } catch (error) {
    throw ioError(error, "create", folder);
  }
}

/** `E_REVISION_CONFLICT` unless they are the same. */
export function requireRevision(id: string, revision: number, expected: number): void {
  if (revision === expected) return;
  throw new HoldfastError("E_REVISION_CONFLICT", `${id} is at revision ${revision}, not ${expected}`, {
    details: { id, revision, expected },
  });
}

/** What goes on after the guard is left is not protected by it. */
function runAtOnce<T>(step: () => T): T {
  const result = step();
  if (typeof (result as { then?: unknown } | null | undefined)?.then === "function")
    throw invalidArgument("step", "it runs a synchronous function, and this one returns a promise");
  return result;
}
