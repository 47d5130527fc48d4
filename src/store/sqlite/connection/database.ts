/**
 * One connection to the database: its pragmas, its transactions, and the way in which it waits for other connections.
 *
 * Opening creates no file unless it is told to: a database file that is there has had its tables from its first moment on
 * (make.ts).
 */
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { HoldfastError } from "../../../base/errors.js";
import type { SqlRow } from "../../contract.js";
import { countClosed } from "./closed-connections.js";
import { codedError, isBusy } from "./error-codes.js";
import { type Preparing, prepareOwn, Statement } from "./statement.js";

interface Driver extends Preparing {
  readonly isOpen: boolean;
  readonly isTransaction: boolean;
  setAuthorizer(allows: Authorizer | null): void;
  exec(sql: string): void;
  close(): void;
}

type DriverClass = new (path: string, options: { timeout: number; readOnly?: boolean }) => Driver;

export interface DatabaseOptions {
  /** Makes the file when there is none. */
  readonly creates?: boolean;
  /** Called before anything is changed: throws when this is not the database that was meant. */
  readonly isMeant?: (database: Database) => void;
  /** Changes nothing, also not the kind of the database's journal. */
  readonly reading?: Reading;
}

/** Asked about each action and table of a statement when it is prepared; anything but 0 refuses the statement. */
export type Authorizer = (action: number, first: string | null, second: string | null) => number;

/** Before 3.51.3 a WAL that is reset at the wrong moment corrupts the database. */
const OLDEST_SQLITE = [3, 51, 3] as const;
/** Each page a step touches is written whole, so small pages; smaller ones than this would not hold a row. */
const PAGE_BYTES = 2048;
/** A longer WAL is slower to write, since its pages are not yet in memory; a shorter one is synced too often. */
const CHECKPOINT_PAGES = 1000;
/** Opening and reading wait for others, who are in the way for moments only; steps try again by rules of their own. */
const OPEN_WAIT_MS = 5_000;
const READ_WAIT_MS = 1_000;

/** How a connection that only reads does it: see read-connection.ts. */
type Reading = "beside writers" | "alone";

export class Database {
  readonly path: string;
  readonly #driver: Driver;
  readonly #begin: Statement;
  readonly #beginReading: Statement;
  readonly #commit: Statement;
  readonly #rollBack: Statement;
  readonly #prepared = new Map<string, { all(values: readonly unknown[]): SqlRow[] }>();
  #isInside = false;
  #waitMs = OPEN_WAIT_MS;
  #allows: Authorizer | null = null;

  readonly #isReader: boolean;

  /** Pragmas are set explicitly, since their defaults differ between builds. */
  constructor(path: string, { creates = false, isMeant, reading }: DatabaseOptions = {}) {
    this.path = path;
    const readOnly = reading !== undefined;
    this.#isReader = readOnly;
    const where = creates ? path : existing(path, reading);
    this.#driver = orCoded(path, () => new (driverOf())(where, { timeout: OPEN_WAIT_MS, readOnly }));
    try {
      assertVersion(String(this.prepare("SELECT sqlite_version()").get()?.[0]));
      isMeant?.(this);
      if (!readOnly) this.#prepareToWrite();
      this.exec("PRAGMA trusted_schema = OFF");
      // mutant: write-transaction: this.prepare("BEGIN IMMEDIATE") → this.prepare("BEGIN")
      this.#begin = this.prepare("BEGIN IMMEDIATE");
      this.#beginReading = this.prepare("BEGIN");
      this.#commit = this.prepare("COMMIT");
      this.#rollBack = this.prepare("ROLLBACK");
    } catch (error) {
      this.#closeDriver();
      throw error;
    }
  }

  #prepareToWrite(): void {
    this.exec(`PRAGMA page_size = ${PAGE_BYTES}`);
    this.exec("PRAGMA journal_mode = WAL");
    this.syncCommits(true);
    this.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
    this.exec("PRAGMA fullfsync = ON");
    this.exec("PRAGMA checkpoint_fullfsync = ON");
  }

  /** Returns a statement that is prepared at its first use: a mistake in it throws there. */
  prepare(sql: string): Statement {
    return new Statement(this.#driver, sql, this.path);
  }

  exec(sql: string): void {
    orCoded(this.path, () => this.#driver.exec(sql));
  }

  /** Ends the opening, in which this connection waits for others and syncs every commit. */
  opened({ syncs = false } = {}): void {
    this.syncCommits(syncs);
    this.#waitMs = 0;
    this.#waitForOthers(0);
  }

  #waitForOthers(ms: number): void {
    this.exec(`PRAGMA busy_timeout = ${ms}`);
  }

  /** Whether a commit is on the disk before it returns, or only safe from a crash of this process. Not inside one. */
  syncCommits(on: boolean): void {
    this.exec(`PRAGMA synchronous = ${on ? "FULL" : "NORMAL"}`);
  }

  /** Begins a write transaction, or returns false when another writer is in one. */
  tryBegin(): boolean {
    if (this.#isInside) return false;
    try {
      this.#begin.get();
    } catch (error) {
      if (isBusy(error)) return false;
      throw error;
    }
    this.#isInside = true;
    return true;
  }

  commit(): void {
    this.#commit.get();
    this.#isInside = false;
  }

  rollBack(): void {
    this.#isInside = false;
    try {
      this.#rollBack.get();
    } catch {
      // SQLite has rolled back by itself: nothing is left to do.
    }
  }

  /** A statement that gives its rows as objects, prepared once. */
  statement(sql: string): { all(values: readonly unknown[]): SqlRow[] } {
    let prepared = this.#prepared.get(sql);
    if (prepared === undefined) {
      const statement = prepareOwn(this.#driver, sql, this.path);
      prepared = {
        all: (values) => {
          try {
            return statement.all(...values) as SqlRow[];
          } catch (error) {
            throw codedError(error, this.path);
          }
        },
      };
      this.#prepared.set(sql, prepared);
    }
    return prepared;
  }

  get isOpen(): boolean {
    return this.#driver.isOpen;
  }

  get isInTransaction(): boolean {
    return this.#driver.isTransaction;
  }

  /** Runs statements of somebody else's: `allows` is asked about each. */
  restricted<T>(allows: Authorizer, action: () => T): T {
    this.#allows = allows;
    this.#driver.setAuthorizer(allows);
    try {
      return action();
    } finally {
      this.#allows = null;
      this.#driver.setAuthorizer(null);
    }
  }

  /** A statement of ours among them. */
  unrestricted<T>(action: () => T): T {
    this.#driver.setAuthorizer(null);
    try {
      return action();
    } finally {
      this.#driver.setAuthorizer(this.#allows);
    }
  }

  /** A statement of somebody else's: its rows as objects. */
  rowsOf(sql: string, values: readonly unknown[]): unknown[] {
    return this.#driver.prepare(sql).all(...values);
  }

  /** Waits for whoever is in the way of reading. */
  patiently<T>(action: () => T): T {
    this.#waitForOthers(READ_WAIT_MS);
    try {
      return action();
    } finally {
      this.#waitForOthers(this.#waitMs);
    }
  }

  /** Everything `action` reads is of one moment. Inside a transaction it is that one's. */
  readAtOnce<T>(action: () => T): T {
    if (this.#isInside) return action();
    return this.patiently(() => {
      this.#beginReading.get();
      try {
        return action();
      } finally {
        this.#commit.get();
      }
    });
  }

  /**
   * SQLite moves everything from the WAL into the database file when the last connection is closed, and keeps this one
   * until its statements are collected as garbage (closed-connections.ts). So it is moved here, unless others are busy.
   */
  close(): void {
    try {
      if (!this.#isReader) this.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    } catch {
      // The WAL stays, and is as good.
    }
    this.#closeDriver();
  }

  #closeDriver(): void {
    this.#driver.close();
    countClosed(this);
  }
}

/** The URI under which SQLite opens a file and creates none. */
function existing(path: string, reading: Reading | undefined): string {
  const how = reading === undefined ? "mode=rw" : reading === "alone" ? "mode=ro&immutable=1" : "mode=ro";
  return `${pathToFileURL(path).href}?${how}`;
}

function driverOf(): DriverClass {
  return (createRequire(import.meta.url)("@photostructure/sqlite") as { DatabaseSync: DriverClass }).DatabaseSync;
}

function orCoded<T>(path: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw codedError(error, path);
  }
}

function assertVersion(version: string): void {
  const parts = version.split(".").map(Number);
  for (const [at, least] of OLDEST_SQLITE.entries()) {
    const part = parts[at] ?? 0;
    if (part > least) return;
    if (part < least)
      throw new HoldfastError(
        "E_CONFIG",
        `SQLite ${version} can corrupt a WAL; ${OLDEST_SQLITE.join(".")} or later is needed`,
        { reason: "unsupported_database" },
      );
  }
}
