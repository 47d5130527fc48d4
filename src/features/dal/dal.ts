/**
 * A data access layer for the caller's own database: every read presents a lease that covers what it reads, every write
 * a write lease, and a write is one short transaction in which that lease is checked.
 *
 * In the store's own database the check and the write are one step. In another, an SQLite file or on a PostgreSQL server,
 * a holder that writes, or may write once it is upgraded, leaves its fencing token there before its first read, and a write
 * is refused once a higher token is there (`foreign-rows.ts` of both stores). A lease of mode `read` leaves nothing: a
 * reader needs no permission to write there, and may see what a late writer changed in the meantime.
 *
 * Not promised: that a statement stays within the resource. The caller names the resource, and no statement is checked
 * against it.
 */
import { checkOptions, type OptionNames } from "../../base/check-options.js";
import type { Duration } from "../../base/duration.js";
import { invalidArgument } from "../../base/errors.js";
import { withoutPassword } from "../../base/without-password.js";
import { Holdfast } from "../../client/holdfast.js";
import type { ForeignRows, Sql, SqlRow } from "../../client/kernel.js";
import { kernelOf, openForeignRows } from "../../client/kernel.js";
import { Lease } from "../../client/lease/lease.js";
import { alone, assertOutside, parseLimit, transactionsOf } from "../../client/lease/transaction.js";
import type { Grant } from "../../lock/grant.js";
import { parseKey } from "../../lock/key.js";
import { coveringGrant, tokenToLeave } from "./covering.js";
import { type PageOptions, type Paging, pageOf, pagesOf, readAll } from "./paging.js";

export interface DalOptions {
  readonly holdfast: Holdfast;
  /** `sqlite:PATH` or `postgres://…`. Default: the database of the store itself. */
  readonly database?: string;
  /** A transaction that is open longer is rolled back. Default 5 s. */
  readonly maxTransactionMs?: Duration;
}

export interface ReadOptions {
  /** All statements see one moment. Without it each stands alone, and no transaction is opened. */
  readonly snapshot?: boolean;
}

const OPEN: OptionNames<DalOptions> = { holdfast: true, database: true, maxTransactionMs: true };
const READ: OptionNames<ReadOptions> = { snapshot: true };

/** `E_CONFIG` for what is no database, `E_STORE_UNAVAILABLE` for one that cannot be reached, `E_INVALID_ARGUMENT`. */
export async function openDal(options: DalOptions): Promise<Dal> {
  checkOptions(options, OPEN);
  const { holdfast, database, maxTransactionMs } = options;
  if (!(holdfast instanceof Holdfast)) throw invalidArgument("holdfast", "what openHoldfast gave");
  if (database !== undefined && typeof database !== "string")
    throw invalidArgument("database", "sqlite:PATH or postgres://…");
  const limitMs = parseLimit(maxTransactionMs);
  const isOwn = database === undefined || withoutPassword(database) === holdfast.storeUrl;
  return new Dal(isOwn ? null : await openForeignRows(database), limitMs);
}

export class Dal {
  readonly #foreign: ForeignRows | null;
  readonly #limitMs: number;
  /** Leases whose token is already in the foreign database. */
  readonly #installed = new WeakMap<Lease, Set<number>>();
  #isClosed = false;

  /** @internal Use `openDal`. */
  constructor(foreign: ForeignRows | null, limitMs: number) {
    this.#foreign = foreign;
    this.#limitMs = limitMs;
  }

  /** One transaction under a write lease that covers the resource. `E_LOCK_NOT_HELD` before any statement runs. */
  async write<T>(lease: Lease, resource: string, body: (sql: Sql) => T | Promise<T>): Promise<T> {
    assertOutside();
    assertFunction(body);
    const grant = await this.#covering(lease, resource, "write");
    const foreign = this.#foreign;
    if (foreign === null) return lease.transaction(body, { maxTransactionMs: this.#limitMs });
    return alone(() => foreign.write(grant.resource, grant.fencingToken, body, this.#limitMs));
  }

  /** Statements that change nothing, under a lease of any mode that covers the resource. */
  async read<T>(
    lease: Lease,
    resource: string,
    body: (sql: Sql) => T | Promise<T>,
    options: ReadOptions = {},
  ): Promise<T> {
    assertOutside();
    assertFunction(body);
    checkOptions(options, READ);
    const { snapshot = false } = options;
    await this.#mayRead(lease, resource);
    const rows = this.#foreign ?? transactionsOf(kernelOf(lease));
    return alone(() => rows.read(body, snapshot, this.#limitMs));
  }

  /** All rows of one statement; `E_INVALID_ARGUMENT` when they are more than 50,000 and no page was asked for. */
  async query(
    lease: Lease,
    resource: string,
    statement: string,
    values: readonly unknown[] = [],
    page?: PageOptions,
  ): Promise<SqlRow[]> {
    return this.read(lease, resource, (sql) =>
      page === undefined ? readAll(sql, statement, values) : pageOf(sql, statement, values, page),
    );
  }

  /** The rows of one statement, page by page in the order of a unique column; each page shows the lease anew. */
  pages(
    lease: Lease,
    resource: string,
    statement: string,
    values: readonly unknown[],
    paging: Paging,
  ): AsyncGenerator<SqlRow[]> {
    return pagesOf(statement, values, paging, (body) => this.read(lease, resource, body));
  }

  /** What is asked afterwards is `E_INVALID_ARGUMENT`. A second call does nothing. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#foreign?.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** A token is left before its holder reads, so that whatever a predecessor still commits comes before what it sees. */
  async #mayRead(lease: Lease, resource: string): Promise<void> {
    const grant = await this.#covering(lease, resource, "read");
    // mutant: foreign-upgradeable: grant.mode === "read") return; → grant.mode !== "write") return;
    if (this.#foreign === null || grant.mode === "read") return;
    const installed = this.#installed.get(lease) ?? new Set();
    this.#installed.set(lease, installed);
    if (installed.has(grant.fencingToken)) return;
    if (grant.mode === "write") await this.#foreign.install(grant.resource, grant.fencingToken);
    else await this.#foreign.raise(grant.resource, await tokenToLeave(lease, grant));
    installed.add(grant.fencingToken);
    this.#assertOpen();
  }

  async #covering(lease: Lease, resource: string, mode: "read" | "write"): Promise<Grant> {
    this.#assertOpen();
    if (!(lease instanceof Lease)) throw invalidArgument("lease", "what holdfast.acquire gave");
    const grant = await coveringGrant(lease, parseKey(resource), mode);
    this.#assertOpen();
    return grant;
  }

  /** Asked again after each wait: it may have been closed meanwhile. */
  #assertOpen(): void {
    if (this.#isClosed) throw invalidArgument("dal", "it was closed");
  }
}

function assertFunction(body: unknown): void {
  if (typeof body !== "function") throw invalidArgument("body", "a function");
}
