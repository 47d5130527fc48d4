/**
 * The ledger in one SQLite file (WAL). The guard is a short `BEGIN IMMEDIATE`. As long as nobody else writes it is asked
 * for directly. Once another writer is met, the next steps go through the turnstile first: SQLite's own retry serves
 * equals very unevenly, and a failed try costs more than a look at the turnstile.
 */
import type { Key } from "../../lock/key.js";
import type { Settings } from "../../lock/settings.js";
import type { Clock } from "../../support/clock.js";

<<<<<<< ours

import { sleep } from "../../support/deadline.js";
import { HoldfastError } from "../../support/errors.js";
import { enterAll, type Guard } from "../../support/guard.js";
import type { Ledger, LedgerRecords } from "../ledger.js";
import type { Database } from "./database.js";
import { createRecords } from "./records.js";
import { type Body, Steps } from "./steps.js";
import { Tables } from "./tables.js";

/** How many steps go through the turnstile after another writer was met. */
const CROWDED_STEPS = 100;
/** Inside the turnstile: tries in a row for the write lock, then a pause, then all over, until it is too long. */
const TRIES = 30;
const LONGEST_PAUSE_MS = 2;
const GIVE_UP_AFTER_MS = 5_000;
=======

import { ioError } from "../../support/errors.js";
import { enterAll, type Guard, tryEnterAll } from "../../support/guard.js";
import type { AuditPage } from "../contract.js";
import { inOrder } from "../in-order.js";
import { type Changes, type Ledger, type LedgerView, MAX_KEYS, type Outcome } from "../ledger.js";
import type { Database, Row } from "./database.js";
import { addGrant, dropGrant, dropTicket, findGrant, listGrants, putTicket, selectNear, updateGrant } from "./rows.js";

/** Numbers reserved by one synced commit. */
const FENCE_BLOCK = 1_000;
const AUDIT_PAGE = 1_000;

interface Tree {
  fence: number;
  reserved: number;
  bootId: string;
  held: number;
  waiting: number;
  auditSeq: number;
  auditHash: string;
}

/** Thrown inside a step that needs more fence numbers than are reserved: reserve, then run it again. */
class OutOfNumbers {
  readonly tree: Key;
  constructor(tree: Key) {
    this.tree = tree;
  }
}
>>>>>>> theirs

export class SqliteLedger implements Ledger {
  readonly url: string;
  readonly settings: Settings;
  readonly records: LedgerRecords;
  readonly #database: Database;
  readonly #turnstile: Guard;
  readonly #steps: Steps;
  #crowdedSteps = 0;

  constructor(url: string, database: Database, turnstile: Guard, settings: Settings, clock: Clock) {
    this.url = url;
    this.settings = settings;
    this.#database = database;
    this.#turnstile = turnstile;
<<<<<<< ours
    const tables = new Tables(database);
    this.#steps = new Steps(database, tables, clock);
    this.records = createRecords(database, tables);
=======
    this.#turn = [turnstile];
    this.settings = settings;
    this.#clock = clock;
  }

  async transact<T>(_trees: readonly Key[], body: (view: LedgerView) => Outcome<T>): Promise<T> {
    if (!tryEnterAll(this.#turn)) await enterAll(this.#turn, this.#database.path);
    try {
      for (;;) {
        const done = this.#step(body);
        if (done instanceof OutOfNumbers) this.#reserve(done.tree);
        else return done.result;
      }
    } finally {
      this.#turnstile.leave();
    }
  }

  #step<T>(body: (view: LedgerView) => Outcome<T>): Outcome<T> | OutOfNumbers {
    const database = this.#database;
    const trees = new Map<Key, Tree>();
    database.run("BEGIN IMMEDIATE");
    try {
      const outcome = body(this.#view(trees));
      if (outcome.changes === null) {
        database.run("ROLLBACK");
        return outcome;
      }
      this.#apply(outcome.changes, trees);
      database.run("COMMIT");
      if (outcome.changes.durable) this.#sync();
      return outcome;
    } catch (error) {
      this.#rollBack();
      if (error instanceof OutOfNumbers) return error;
      throw error;
    }
  }

  /** SQLite may have rolled back by itself; then there is nothing left to do. */
  #rollBack(): void {
    try {
      this.#database.run("ROLLBACK");
    } catch {
      // No transaction is open any more.
    }
  }

  #view(trees: Map<Key, Tree>): LedgerView {
    const database = this.#database;
    return {
      now: this.#clock(),
      near: (keys) => inOrder(this.#near(keys, trees)),
      find: (_resource, lockId) => findGrant(database, lockId),
      mint: (name) => {
        const tree = this.#tree(name, trees);
        if (tree.fence >= tree.reserved || tree.bootId !== this.#clock().bootId) throw new OutOfNumbers(name);
        tree.fence += 1;
        return tree.fence;
      },
      nextTicketNumber: () => Number(database.get("SELECT max(number) FROM tickets")?.[0] ?? 0) + 1,
    };
  }

  /** A tree whose counters say that nothing is held or waited for needs no look-up. */
  #near(keys: readonly Key[], trees: Map<Key, Tree>): Neighbourhood {
    const busy = keys.filter((key) => {
      const tree = this.#tree(treeOf(key), trees);
      return tree.held > 0 || tree.waiting > 0;
    });
    return busy.length === 0 ? NOTHING_NEAR : selectNear(this.#database, busy);
>>>>>>> theirs
  }

  async transact<T>(trees: readonly Key[], body: Body<T>): Promise<T> {
    if (this.#crowdedSteps === 0) {
      const outcome = this.#steps.run(trees, body);
      if (outcome !== "busy") return outcome.result;
      this.#crowdedSteps = CROWDED_STEPS;
    }
    return this.#takeTurn(trees, body);
  }

  async #takeTurn<T>(trees: readonly Key[], body: Body<T>): Promise<T> {
    for (const startedAt = performance.now(); ; ) {
      await this.#enter();
      try {
        for (let tries = 0; tries < TRIES; tries += 1) {
          const outcome = this.#steps.run(trees, body);
          if (outcome !== "busy") return outcome.result;
          this.#crowdedSteps = CROWDED_STEPS;
        }
      } finally {
        this.#turnstile.leave();
      }
      if (performance.now() - startedAt > GIVE_UP_AFTER_MS) throw stuck(this.#database.path);
      await sleep(Math.random() * LONGEST_PAUSE_MS);
    }
  }

  async #enter(): Promise<void> {
    if (this.#turnstile.tryEnter()) {
      this.#crowdedSteps = Math.max(0, this.#crowdedSteps - 1);
      return;
    }
    this.#crowdedSteps = CROWDED_STEPS;
    await enterAll([this.#turnstile], this.#database.path);
  }

  close(): void {
    this.#turnstile.close();
    this.#database.close();
  }
}

function stuck(path: string): HoldfastError {
  const seconds = GIVE_UP_AFTER_MS / 1000;
  return new HoldfastError("E_STORE_UNAVAILABLE", `another program kept ${path} locked for ${seconds} s`, {
    next: ["Look for a program that has a write transaction open on this file, and end it."],
  });
}
