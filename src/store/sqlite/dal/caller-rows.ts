/**
 * Writes and reads the caller's own rows in the store's database file. A write is one step of the ledger: the grants
 * are checked, then the caller's statements run, then all of it commits, synced. A requester that would take over needs
 * the same write lock.
 *
 * The caller's statements cannot leave that step: SQLite calls `allowsWriting` for each of them when it is prepared, and
 * refuses those that begin or end a transaction, attach another file, or change or hide a table of the store.
 */
import { HoldfastError, invalidArgument } from "../../../base/errors.js";
import type { Sql, SqlRow } from "../../contract.js";
import type { CallerRows } from "../../ledger.js";
import type { Authorizer, Database } from "../connection/database.js";
import { MIGRATIONS, tablesOf } from "../connection/schema.js";
import type { Body } from "../steps.js";

/** SQLite's numbers for what a statement is about to do. */
const [PRAGMA, READ, SELECT, TRANSACTION, ATTACH, DETACH, ALTER, FUNCTION, SAVEPOINT, RECURSIVE] = [
  19, 20, 21, 22, 24, 25, 26, 31, 32, 33,
];
const [ALLOW, DENY] = [0, 1];
const NOT_AUTHORIZED = 23;

export const MARKS = "holdfast_fences";
/** A table called `json_each` would hide the function of that name from our statements. */
const NAMES_IN_A_STORE = new Set([MARKS, "json_each", ...tablesOf(MIGRATIONS)]);
const READING = new Set([READ, SELECT, FUNCTION, RECURSIVE]);
const LEAVING = new Set([PRAGMA, TRANSACTION, ATTACH, DETACH, SAVEPOINT]);

export const allowsReading: Authorizer = (action) => (READING.has(action) ? ALLOW : DENY);

/**
 * Everything inside the step, but for what has one of these names: a temporary table or view would hide the real one from
 * this connection. SQLite does not tell what a table is renamed to, so temporary ones are not altered.
 */
export function allowsBeside(names: ReadonlySet<string>): Authorizer {
  // mutant: transaction-spelling: names.has(name.toLowerCase()) → names.has(name)
  const isOurs = (name: string | null): boolean => name !== null && names.has(name.toLowerCase());
  return (action, first, second) => {
    if (READING.has(action)) return ALLOW;
    // mutant: transaction-renaming: action === ALTER && first === "temp" → false
    const mayHide = action === ALTER && first === "temp";
    // mutant: transaction-statements: LEAVING.has(action) || mayHide || isOurs(first) || isOurs(second) ? DENY : →
    return LEAVING.has(action) || mayHide || isOurs(first) || isOurs(second) ? DENY : ALLOW;
  };
}

export const allowsWriting = allowsBeside(NAMES_IN_A_STORE);

export function createCallerRows(
  database: Database,
  transact: <T>(trees: Parameters<CallerRows["write"]>[0], body: Body<T>) => Promise<T>,
): CallerRows {
  return {
    write: (trees, check, body, limitMs) =>
      transact(trees, (view) => {
        check(view);
        const statements = new Statements(database, limitMs, { writes: true, isOfStore: true });
        const result = statements.run(allowsWriting, body);
        return { result, changes: { durable: true } };
      }),
    async read(body, snapshot, limitMs) {
      const run = () => new Statements(database, limitMs, { writes: false, isOfStore: true }).run(allowsReading, body);
      return snapshot ? database.readAtOnce(run) : database.patiently(run);
    },
  };
}

/** The caller's statements inside a step that is under way. */
export function runOwn<T>(database: Database, body: (sql: Sql) => T): T {
  const statements = new Statements(database, Number.POSITIVE_INFINITY, { writes: true, isOfStore: true });
  return statements.run(allowsWriting, body);
}

/** What the caller's function is given, good until it returns. */
export class Statements implements Sql {
  readonly answersAtOnce = true;
  readonly isOfStore: boolean;
  readonly #database: Database;
  readonly #limitMs: number;
  readonly #writes: boolean;
  readonly #startedAt = performance.now();
  #isOver = false;

  constructor(
    database: Database,
    limitMs: number,
    { writes, isOfStore }: { readonly writes: boolean; readonly isOfStore: boolean },
  ) {
    this.isOfStore = isOfStore;
    this.#database = database;
    this.#limitMs = limitMs;
    this.#writes = writes;
  }

  run<T>(allows: Authorizer, body: (sql: Sql) => T): T {
    try {
      const result = this.#database.restricted(allows, () => body(this));
      this.#assertUnderWay();
      return result;
    } finally {
      this.#isOver = true;
    }
  }

  rows(statement: string, values: readonly unknown[] = []): SqlRow[] {
    if (this.#isOver)
      throw invalidArgument("sql", "its transaction has ended: use it inside the function it is given to");
    this.#assertUnderWay();
    try {
      return this.#database.rowsOf(statement, values) as SqlRow[];
    } catch (error) {
      throw (error as { errcode?: number }).errcode === NOT_AUTHORIZED ? this.#refused(error as Error) : error;
    }
  }

  ours(statement: string, values: readonly unknown[]): SqlRow[] {
    if (this.#isOver || !this.#writes) throw invalidArgument("sql", "a transaction that writes is needed");
    this.#assertUnderWay();
    return this.#database.unrestricted(() => this.#database.statement(statement).all(values));
  }

  query(): Promise<SqlRow[]> {
    throw new HoldfastError("E_CONFIG", "SQLite answers at once", {
      reason: "unsupported_store",
      next: ["Call sql.rows(…) without await."],
    });
  }

  /** A statement such as INSERT OR ROLLBACK may have ended the transaction; what follows it would stand alone. */
  #assertUnderWay(): void {
    if (this.#writes && !this.#database.isInTransaction)
      throw invalidArgument("sql", "a statement rolled the transaction back; nothing of it is kept");
    const openMs = performance.now() - this.#startedAt;
    if (openMs <= this.#limitMs) return;
    throw new HoldfastError(
      "E_LOCK_TIMEOUT",
      `the transaction was open for ${Math.round(openMs)} ms, longer than its limit of ${this.#limitMs} ms, and was rolled back`,
      { next: ["Do less in one transaction, or give a larger maxTransactionMs."] },
    );
  }

  #refused(cause: Error): HoldfastError {
    const what = this.#writes
      ? "begins or ends a transaction, attaches a file, alters a temporary table, or changes or hides a table of Holdfast's own"
      : "changes something, and only reading is allowed here";
    return new HoldfastError("E_INVALID_ARGUMENT", `sql: the statement ${what}`, { cause, details: { field: "sql" } });
  }
}
