/**
 * The ledger in one SQLite file (WAL). The guard is a short `BEGIN IMMEDIATE`. As long as no other process writes, a
 * step begins directly. Once another writer is met, the next steps go through the turnstile first: SQLite's own retry
 * serves equals very unevenly, and a failed try costs more than a look at the turnstile.
 */

import { HoldfastError } from "../../base/errors.js";
import { sleep } from "../../base/sleep.js";
import { enterAll, type Guard } from "../../files/guard.js";
import type { Grant } from "../../lock/grant.js";
import type { Key } from "../../lock/key.js";
import type { Settings } from "../../lock/settings.js";
import type { Clock } from "../../platform/clock.js";
import { jittered } from "../../platform/jitter.js";
import type { CallerRows, Ledger, LedgerRecords, Outcome, Scripting } from "../ledger.js";
import type { Database } from "./connection/database.js";
import type { Presence } from "./connection/presence.js";
import { WalSync } from "./connection/wal-sync.js";
import { createCallerRows } from "./dal/caller-rows.js";
import type { GrantRows } from "./grants/grant-rows.js";
import { createRecords } from "./records.js";
import { type Body, Steps } from "./steps.js";
import { Tables } from "./tables.js";

/** How many steps go through the turnstile after another writer was met. */
const CROWDED_STEPS = 100;
/** Inside the turnstile: tries in a row for the write lock, then a pause, then all over, until it is too long. */
const TRIES = 30;
const LONGEST_PAUSE_MS = 2;
const GIVE_UP_AFTER_MS = 5_000;

/** What is known of a store once it was opened. */
export interface SqliteStoreFacts {
  readonly url: string;
  readonly id: string;
  readonly settings: Settings;
  readonly database: Database;
  readonly presence: Presence;
}

export class SqliteLedger implements Ledger {
  readonly url: string;
  readonly id: string;
  readonly settings: Settings;
  readonly scripting: Scripting = {
    transact: (body, isDurable) => this.#inTurn(() => this.#steps.runScript(body, isDurable)),
    look: async (body) => this.#steps.look(body),
  };
  readonly #database: Database;
  readonly #presence: Presence;
  readonly #turnstile: Guard;
  readonly #steps: Steps;
  readonly #tables: Tables;
  readonly #grants: GrantRows;
  #records: LedgerRecords | null = null;
  #callerRows: CallerRows | null = null;
  #wal: WalSync | null = null;
  #crowdedSteps = 0;
  #isClosed = false;

  constructor({ url, id, settings, database, presence }: SqliteStoreFacts, turnstile: Guard, clock: Clock) {
    this.url = url;
    this.id = id;
    this.settings = settings;
    this.#database = database;
    this.#presence = presence;
    this.#turnstile = turnstile;
    const tables = new Tables(database);
    this.#tables = tables;
    this.#grants = tables.grants;
    this.#steps = new Steps(database, tables, presence, clock);
  }

  get records(): LedgerRecords {
    this.#records ??= createRecords(this.#database, this.#tables, this.#presence);
    return this.#records;
  }

  get callerRows(): CallerRows {
    this.#callerRows ??= createCallerRows(this.#database, (trees, body) => this.transact(trees, body, true));
    return this.#callerRows;
  }

  transact<T>(trees: readonly Key[], body: Body<T>, once = false): Promise<T> {
    return this.#inTurn(() => this.#steps.run(trees, body, once));
  }

  adoptWorkspace(id: string): Promise<string> {
    return this.scripting.transact(({ rows }) => {
      // mutant: sqlite-first-workspace: DO NOTHING → DO UPDATE SET value = excluded.value
      rows("INSERT INTO settings (name, value) VALUES ('workspace', ?) ON CONFLICT DO NOTHING", [id]);
      const [row] = rows("SELECT value FROM settings WHERE name = 'workspace'", []);
      return String(row?.value);
    }, true);
  }

  assertInPlace(): void {
    this.#presence.assert();
  }

  sync(standStill: boolean): Promise<void> {
    this.#wal ??= new WalSync(this.#database.path);
    return this.#wal.wait(standStill);
  }

  held(key: Key, tokenHash: string): Grant | null {
    try {
      return this.#grants.held(key, tokenHash);
    } catch {
      return null; // Whoever looks asks for the lock next, and is told what is wrong.
    }
  }

  async #inTurn<T>(step: () => Outcome<T> | "busy"): Promise<T> {
    if (this.#isClosed) throw new HoldfastError("E_STORE_UNAVAILABLE", `${this.url} was closed`, { reason: "closed" });
    if (this.#crowdedSteps === 0) {
      const outcome = step();
      if (outcome !== "busy") return outcome.result;
      this.#crowdedSteps = CROWDED_STEPS;
    }
    // Standing in front of the turnstile does not count: there it is seen whether others go through.
    for (let busyMs = 0; ; ) {
      await this.#enter();
      const enteredAt = performance.now();
      try {
        for (let tries = 0; tries < TRIES; tries += 1) {
          const outcome = step();
          if (outcome !== "busy") return outcome.result;
          this.#crowdedSteps = CROWDED_STEPS;
        }
      } finally {
        this.#turnstile.leave();
      }
      await sleep(jittered(0, LONGEST_PAUSE_MS));
      busyMs += performance.now() - enteredAt;
      if (busyMs > GIVE_UP_AFTER_MS) throw stuck(this.#database.path);
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
    // mutant: database-closed: this.#isClosed = true; → this.#isClosed = false;
    this.#isClosed = true;
    this.#turnstile.close();
    this.#wal?.close();
    this.#database.close();
  }
}

function stuck(path: string): HoldfastError {
  const seconds = GIVE_UP_AFTER_MS / 1000;
  return new HoldfastError("E_STORE_UNAVAILABLE", `another program kept ${path} locked for ${seconds} s`, {
    reason: "busy",
    next: ["Look for a program that has a write transaction open on this file, and end it."],
  });
}
