/**
 * Writes rows in a database file of the caller's own, apart from the store. The store's grants cannot be checked in its
 * transactions, so writers leave their fencing tokens there, and a token that has been overtaken writes no more:
 *
 *   install   before its first read, a holder of write leaves its token on its resource
 *   raise     so does one of upgradeable, whose own leases may write below it: a higher token stays as it is
 *   write     in the transaction that writes: a higher token on the resource, above or below it refuses
 *
 * So a successor reads only after a late writer's last commit. A crash leaves the mark or not, and the transaction whole or
 * not at all. Marks below a new one that are not higher are removed: the new one covers them.
 */

import { dirname, resolve as resolvePath } from "node:path";
import { HoldfastError } from "../../../base/errors.js";
import { sleep } from "../../../base/sleep.js";
import { syncFolder } from "../../../files/durable-file.js";
import { ancestorsOf, type Key } from "../../../lock/key.js";
import { assertLocalFileSystem } from "../../../platform/file-system.js";
import { jittered } from "../../../platform/jitter.js";
import { isThere } from "../../../platform/look-up.js";
import type { ForeignRows } from "../../contract.js";
import { runAtOnce } from "../../run-at-once.js";
import { Database } from "../connection/database.js";
import type { Statement } from "../connection/statement.js";
import { allowsBeside, allowsReading, allowsWriting, MARKS, Statements } from "./caller-rows.js";

const GIVE_UP_AFTER_MS = 5_000;
const PAUSE_MS = 2;
const HIGHEST = `SELECT substr(resource, 1, instr(resource || '/', '/') - 1) AS tree, max(fencing_token) AS token
  FROM ${MARKS} GROUP BY 1`;
/** Elsewhere than in a store, all names but this one are the caller's: it may have a table of jobs, or of settings. */
const allowsBesideMarks = allowsBeside(new Set([MARKS]));

export function openForeignRows(place: string): ForeignRows {
  const path = resolvePath(place);
  assertLocalFileSystem(dirname(path));
  const isNew = !isThere(path);
  const database = new Database(path, { creates: true });
  database.exec(
    `CREATE TABLE IF NOT EXISTS ${MARKS} (resource TEXT PRIMARY KEY, fencing_token INTEGER NOT NULL) WITHOUT ROWID`,
  );
  if (isNew) syncFolder(dirname(path));
  database.opened({ syncs: true });
  const marks = new Marks(database);
  return {
    install: (resource, fencingToken) => inTransaction(database, () => marks.install(resource, fencingToken)),
    raise: (resource, fencingToken) => inTransaction(database, () => marks.raise(resource, fencingToken)),
    write: (resource, fencingToken, body, limitMs) =>
      inTransaction(database, () => {
        marks.install(resource, fencingToken);
        const isOfStore = marks.isInStore();
        const allows = isOfStore ? allowsWriting : allowsBesideMarks;
        const statements = new Statements(database, limitMs, { writes: true, isOfStore });
        return statements.run(allows, (sql) => runAtOnce(body, sql));
      }),
    async read(body, snapshot, limitMs) {
      const facts = { writes: false, isOfStore: false };
      const run = () => new Statements(database, limitMs, facts).run(allowsReading, (sql) => runAtOnce(body, sql));
      return snapshot ? database.readAtOnce(run) : database.patiently(run);
    },
    async highest() {
      const rows = database.statement(HIGHEST).all([]);
      return new Map(rows.map(({ tree, token }) => [String(tree) as Key, Number(token)]));
    },
    close: () => database.close(),
  };
}

class Marks {
  readonly #at: Statement;
  readonly #below: Statement;
  readonly #put: Statement;
  readonly #dropBelow: Statement;
  readonly #store: Statement;

  constructor(database: Database) {
    const below = "resource > ?1 || '/' AND resource < ?1 || '0'";
    this.#at = database.prepare(`SELECT fencing_token FROM ${MARKS} WHERE resource = ?`);
    this.#below = database.prepare(`SELECT max(fencing_token) FROM ${MARKS} WHERE ${below}`);
    this.#put = database.prepare(`INSERT OR REPLACE INTO ${MARKS} VALUES (?, ?)`);
    this.#dropBelow = database.prepare(`DELETE FROM ${MARKS} WHERE (${below}) AND fencing_token <= ?2`);
    this.#store = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'dal_locks'");
  }

  /** Somebody may open a store in this file at any time. */
  isInStore(): boolean {
    return this.#store.get() !== undefined;
  }

  /** Inside a write transaction. `E_FENCING_MISMATCH` when a higher token was there first. */
  install(resource: Key, fencingToken: number): void {
    const own = this.#tokenAt(resource);
    const below = Number(this.#below.get(resource)?.[0] ?? 0);
    const highest = Math.max(own, below, this.#highestAbove(resource));
    // mutant: foreign-marks: if (highest > fencingToken) → if (highest < 0)
    if (highest > fencingToken)
      throw new HoldfastError(
        "E_FENCING_MISMATCH",
        `${resource} was written here under token ${highest}, which is higher than ${fencingToken}`,
        { details: { resource, current: [highest] } },
      );
    if (own !== fencingToken) this.#leave(resource, fencingToken);
  }

  /** Inside a write transaction. */
  raise(resource: Key, fencingToken: number): void {
    if (Math.max(this.#tokenAt(resource), this.#highestAbove(resource)) < fencingToken)
      this.#leave(resource, fencingToken);
  }

  #leave(resource: Key, fencingToken: number): void {
    this.#dropBelow.get(resource, fencingToken);
    this.#put.get(resource, fencingToken);
  }

  #highestAbove(resource: Key): number {
    return Math.max(0, ...ancestorsOf(resource).map((key) => this.#tokenAt(key)));
  }

  #tokenAt(resource: Key): number {
    return Number(this.#at.get(resource)?.[0] ?? 0);
  }
}

async function inTransaction<T>(database: Database, body: () => T): Promise<T> {
  for (const startedAt = performance.now(); !database.tryBegin(); ) {
    if (performance.now() - startedAt > GIVE_UP_AFTER_MS)
      throw new HoldfastError("E_STORE_UNAVAILABLE", `another program kept ${database.path} locked for 5 s`, {
        reason: "busy",
      });
    await sleep(jittered(0, PAUSE_MS));
    if (!database.isOpen)
      throw new HoldfastError("E_STORE_UNAVAILABLE", `${database.path} was closed`, { reason: "closed" });
  }
  try {
    const result = body();
    database.commit();
    return result;
  } catch (error) {
    database.rollBack();
    throw error;
  }
}
