/**
 * Runs a step in one write transaction. It is there whole or not at all after a crash; after a power cut the last
 * commits may be missing, always from the end, which fences allow for.
 *
 * Steps that must survive a power cut (`durable`) commit with `synchronous = FULL`: they are on the disk, with all before
 * them, before the step returns, and a failing disk makes the commit fail. SQLite accepts that setting only between
 * transactions. A step whose caller expects it to be durable begins with that setting (`mustSync`). Of the others only the
 * body knows whether it is: if so, the step is rolled back and run again.
 * Steps that are durable `soon` commit like any other, and their caller waits for the disk outside the transaction
 * (wal-sync.ts).
 */
import { type Key, treeOf } from "../../lock/key.js";
import type { Clock } from "../../platform/clock.js";
import { durabilityOf } from "../durability.js";
import type { Changes, LedgerView, Outcome, ScriptStep } from "../ledger.js";
import { runAtOnce } from "../run-at-once.js";
import type { Database } from "./connection/database.js";
import type { Presence } from "./connection/presence.js";
import { runOwn } from "./dal/caller-rows.js";
import { OutOfNumbers } from "./grants/fences.js";
import { noteAdded, noteDropped, type Tree } from "./grants/tree.js";
import type { Tables } from "./tables.js";
import { StepView } from "./view.js";

export type Body<T> = (view: LedgerView) => Outcome<T>;

export class Steps {
  readonly #database: Database;
  readonly #tables: Tables;
  readonly #view: StepView;
  readonly #clock: Clock;
  readonly #presence: Presence;

  constructor(database: Database, tables: Tables, presence: Presence, clock: Clock) {
    this.#database = database;
    this.#presence = presence;
    this.#tables = tables;
    this.#view = new StepView(tables);
    this.#clock = clock;
  }

  /**
   * "busy" when another writer is in a transaction: nothing has happened. A body that must not run twice is run with
   * `mustSync` from the start.
   */
  run<T>(trees: readonly Key[], body: Body<T>, mustSync: boolean): Outcome<T> | "busy" {
    for (let isSynced = mustSync; ; ) {
      const done = isSynced ? this.#synced(() => this.#step(trees, body, true)) : this.#step(trees, body, false);
      if (done === "must sync") isSynced = true;
      else if (!(done instanceof OutOfNumbers)) return done;
      // mutant: sqlite-reserved: #synced(() => this.#reserve(done))) return → #reserve(done)) return
      else if (!this.#synced(() => this.#reserve(done))) return "busy";
    }
  }

  #step<T>(trees: readonly Key[], body: Body<T>, isSynced: boolean): Outcome<T> | "busy" | "must sync" | OutOfNumbers {
    if (!this.#begin()) return "busy";
    try {
      this.#presence.assertLately();
      this.#tables.trees.begin();
      const outcome = body(this.#view.at(this.#clock(), trees));
      const { changes } = outcome;
      // mutant: sqlite-durable: === true && !isSynced) → === true && !isSynced && trees.length < 0)
      if (changes === null || (durabilityOf(changes) === true && !isSynced)) {
        this.#abandon();
        return changes === null ? outcome : "must sync";
      }
      this.#apply(changes);
      this.#commit();
      outcome.whenMade?.();
      return outcome;
    } catch (error) {
      this.#rollBack();
      if (error instanceof OutOfNumbers) return error;
      throw error;
    }
  }

  /** As `run`, for a body that changes things as it goes. */
  runScript<T>(body: (step: ScriptStep) => T, isDurable: boolean): Outcome<T> | "busy" {
    for (let isSynced = isDurable; ; ) {
      const done = isSynced ? this.#synced(() => this.#script(body, true)) : this.#script(body, false);
      if (done === "must sync") isSynced = true;
      else if (!(done instanceof OutOfNumbers)) return done;
      else if (!this.#synced(() => this.#reserve(done))) return "busy";
    }
  }

  look<T>(body: (step: Pick<ScriptStep, "now" | "rows">) => T): T {
    this.#presence.assertLately();
    const rows = (sql: string, values: readonly unknown[]) => this.#database.statement(sql).all(values);
    return this.#database.readAtOnce(() => body({ now: this.#clock(), rows }));
  }

  #script<T>(body: (step: ScriptStep) => T, isSynced: boolean): Outcome<T> | "busy" | "must sync" | OutOfNumbers {
    if (!this.#begin()) return "busy";
    let mustSync = false;
    try {
      // mutant: sqlite-script-in-place: this.#presence.assert(); →
      this.#presence.assert();
      this.#tables.trees.begin();
      const now = this.#clock();
      const result = body({
        now,
        view: (trees) => this.#view.at(now, trees),
        apply: (changes) => {
          // mutant: sqlite-script-durable: mustSync ||= durabilityOf(changes) === true; →
          mustSync ||= durabilityOf(changes) === true;
          this.#apply(changes);
        },
        rows: (sql, values) => this.#database.statement(sql).all(values),
        caller: (own) => runOwn(this.#database, (sql) => runAtOnce(own, sql)),
      });
      if (mustSync && !isSynced) {
        this.#rollBack();
        return "must sync";
      }
      this.#commit();
      return { result, changes: null };
    } catch (error) {
      this.#rollBack();
      if (error instanceof OutOfNumbers) return error;
      throw error;
    }
  }

  /** What SQLite makes of a file that was emptied is told as that. */
  #begin(): boolean {
    try {
      return this.#database.tryBegin();
    } catch (error) {
      this.#presence.assert();
      throw error;
    }
  }

  #reserve(missing: OutOfNumbers): boolean {
    if (!this.#begin()) return false;
    try {
      this.#tables.trees.begin();
      this.#tables.fences.reserve(missing, this.#clock());
      this.#commit();
      return true;
    } catch (error) {
      this.#rollBack();
      throw error;
    }
  }

  #synced<T>(action: () => T): T {
    this.#database.syncCommits(true);
    try {
      return action();
    } finally {
      this.#database.syncCommits(false);
    }
  }

  #commit(): void {
    this.#tables.trees.write();
    this.#database.commit();
    this.#tables.trees.committed();
  }

  #abandon(): void {
    this.#database.rollBack();
    this.#tables.boots.rolledBack();
    this.#tables.trees.abandoned();
  }

  #rollBack(): void {
    this.#abandon();
    this.#tables.trees.forget();
  }

  #apply(changes: Changes): void {
    const { drops, adds, updates, ticketDrops, ticketAdds, ticketUpdates, audit, clears } = changes;
    const { trees, grants, auditTail } = this.#tables;
    const at = (resource: Key): Tree => trees.change(treeOf(resource));
    if (drops !== undefined)
      for (const grant of drops) {
        grants.drop(grant);
        noteDropped(at(grant.resource), grant);
      }
    if (adds !== undefined)
      for (const grant of adds) {
        grants.add(grant);
        noteAdded(at(grant.resource), grant);
      }
    if (updates !== undefined)
      for (const grant of updates) {
        grants.update(grant);
        trees.at(treeOf(grant.resource)).grants?.set(grant.lockId, grant);
      }
    if (clears !== undefined)
      for (const key of clears) {
        const tree = at(key);
        tree.held -= grants.clear(key);
        tree.grants = tree.held === 0 ? new Map() : null;
      }
    if (ticketDrops !== undefined)
      for (const ticket of ticketDrops) {
        this.#tables.tickets.drop(ticket);
        for (const { resource } of ticket.wants) at(resource).waiting -= 1;
      }
    if (ticketAdds !== undefined)
      for (const ticket of ticketAdds) {
        this.#tables.tickets.put(ticket);
        for (const { resource } of ticket.wants) {
          const tree = at(resource);
          tree.waiting += 1;
          tree.lastTicket = Math.max(tree.lastTicket, ticket.number);
        }
      }
    if (ticketUpdates !== undefined) for (const ticket of ticketUpdates) this.#tables.tickets.put(ticket);
    if (changes.manifests !== undefined || changes.files !== undefined) this.#tables.manifests.apply(changes);
    if (audit !== undefined) for (const draft of audit) auditTail.append(at(draft.resource), draft);
  }
}
