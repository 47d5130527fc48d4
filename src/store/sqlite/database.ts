/**
 * The one place that touches the SQLite driver: opening with explicit pragmas, statements prepared once, and SQLite's
 * error codes turned into ours.
 */
import { createRequire } from "node:module";
import { HoldfastError, ioError } from "../../support/errors.js";

export type Value = string | number | null;
export type Row = readonly Value[];

interface DriverStatement {
  run(...values: Value[]): unknown;
  all(...values: Value[]): unknown[];
  get(...values: Value[]): unknown;
  setReturnArrays(on: boolean): void;
}
interface Driver {
  exec(sql: string): void;
  prepare(sql: string): DriverStatement;
  close(): void;
}

/** Before 3.51.3 a WAL that is reset at the wrong moment corrupts the database. */
const OLDEST_SQLITE = [3, 51, 3] as const;
/** Smaller pages than the default: a step touches few bytes on several pages, and each page is written whole. */
const PAGE_BYTES = 2048;

const BUSY = 5;
const READONLY = 8;
const IOERR = 10;
const CORRUPT = 11;
const FULL = 13;
const CANTOPEN = 14;
const NOTADB = 26;

export class Database {
  readonly path: string;
  readonly #driver: Driver;
  readonly #statements = new Map<string, DriverStatement>();

  constructor(path: string) {
    this.path = path;
    const { DatabaseSync } = createRequire(import.meta.url)("@photostructure/sqlite") as {
      DatabaseSync: new (path: string, options: { timeout: number }) => Driver;
    };
    this.#driver = this.#coded(() => new DatabaseSync(path, { timeout: 0 }));
  }

  /** Pragmas are set explicitly, since their defaults differ between builds. */
  configure(): void {
    const version = String(this.get("SELECT sqlite_version()")?.[0] ?? "");
    if (isOlder(version, OLDEST_SQLITE))
      throw new HoldfastError(
        "E_CONFIG",
        `SQLite ${version} can corrupt a WAL; ${OLDEST_SQLITE.join(".")} or later is needed`,
      );
    this.exec(`PRAGMA page_size = ${PAGE_BYTES}`);
    this.exec("PRAGMA journal_mode = WAL");
    this.exec("PRAGMA synchronous = NORMAL");
    this.exec("PRAGMA wal_autocheckpoint = 2000");
    this.exec("PRAGMA foreign_keys = ON");
    this.exec("PRAGMA trusted_schema = OFF");
  }

  exec(sql: string): void {
    this.#coded(() => this.#driver.exec(sql));
  }
  run(sql: string, ...values: Value[]): void {
    this.#coded(() => this.#prepared(sql).run(...values));
  }
  get(sql: string, ...values: Value[]): Row | undefined {
    return this.#coded(() => this.#prepared(sql).get(...values)) as Row | undefined;
  }
  all(sql: string, ...values: Value[]): Row[] {
    return this.#coded(() => this.#prepared(sql).all(...values)) as Row[];
  }
  close(): void {
    this.#statements.clear();
    this.#driver.close();
  }

  #prepared(sql: string): DriverStatement {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#driver.prepare(sql);
      statement.setReturnArrays(true);
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  #coded<T>(action: () => T): T {
    try {
      return action();
    } catch (error) {
      throw codedError(error, this.path);
    }
  }
}

function isOlder(version: string, oldest: readonly number[]): boolean {
  const parts = version.split(".").map(Number);
  for (const [at, least] of oldest.entries()) {
    const part = parts[at] ?? 0;
    if (part !== least) return part < least;
  }
  return false;
}

/** SQLite's primary result code decides; anything that is not SQLite's passes through. */
function codedError(error: unknown, path: string): unknown {
  const extended = (error as { errcode?: number }).errcode;
  if (extended === undefined) return error;
  const cause = error as Error;
  switch (extended & 0xff) {
    case BUSY:
      return new HoldfastError("E_STORE_UNAVAILABLE", `${path} is busy with another writer`, { cause });
    case CORRUPT:
    case NOTADB:
      return new HoldfastError("E_STORE_CORRUPT", `${path}: ${cause.message}`, { cause, details: { path } });
    case READONLY:
      return ioError(Object.assign(cause, { code: "EACCES" }), "write", path);
    case FULL:
      return ioError(Object.assign(cause, { code: "ENOSPC" }), "write", path);
    case CANTOPEN:
    case IOERR:
      return ioError(Object.assign(cause, { code: "EIO" }), "use", path);
    default:
      return error;
  }
}

export function isBusy(error: unknown): boolean {
  return error instanceof HoldfastError && error.code === "E_STORE_UNAVAILABLE";
}
