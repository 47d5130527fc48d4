/**
 * The contract of a store that is a database: beside the locks it offers rows of the caller's own, and steps of several
 * statements.
 */
import type { AuditEvent } from "../lock/audit.js";
import type { Want } from "../lock/grant.js";
import type { EpochTime } from "../lock/job-time.js";
import type { Key } from "../lock/key.js";
import type { AcquireRequest, GrantRef, Party } from "./contract.js";

/** A row of the caller's own, by column. */
export type SqlRow = Readonly<Record<string, unknown>>;

/** The caller's own statements. One of the two ways, as the database has it; the other is `E_CONFIG`. */
export interface Sql {
  /** Which of the two. */
  readonly answersAtOnce: boolean;
  /** SQLite: answers at once. */
  rows(statement: string, values?: readonly unknown[]): SqlRow[];
  /** @internal The statements reach the store's own file on SQLite. False: `ours` is not to be called. */
  readonly isOfStore: boolean;
  /** @internal A statement of the store among the caller's. Where `isOfStore`. */
  ours(statement: string, values: readonly unknown[]): SqlRow[];
  /** PostgreSQL: await it. */
  query(statement: string, values?: readonly unknown[]): Promise<SqlRow[]>;
}

/** Rows of the caller's own that live in the store's database. */
export interface Transactions {
  /**
   * Checks the grants as `commit` does, and runs `body` in the same transaction: nobody takes over before it has
   * committed, durably. SQLite refuses a `body` that returns a promise. Open longer than `limitMs` it is rolled back.
   */
  write<T>(grants: readonly GrantRef[], body: (sql: Sql) => T | Promise<T>, limitMs: number): Promise<T>;
  /** Statements that change nothing; with `snapshot` all of them see one moment. */
  read<T>(body: (sql: Sql) => T | Promise<T>, snapshot: boolean, limitMs: number): Promise<T>;
}

/** A database that is not the store's. It knows fences by the tokens that writers leave in it. */
export interface ForeignRows {
  /** Leaves the token of a write grant, before the first read. `E_FENCING_MISMATCH` when a higher one is on, above or below. */
  install(resource: Key, fencingToken: number): Promise<void>;
  /** Leaves a token, and whatever is higher as it is: for who reads now and may write later. Refused by nobody. */
  raise(resource: Key, fencingToken: number): Promise<void>;
  /** As `Transactions.write`, with that check in the same transaction. */
  write<T>(resource: Key, fencingToken: number, body: (sql: Sql) => T | Promise<T>, limitMs: number): Promise<T>;
  read: Transactions["read"];
  /** Returns the highest token that was left in each tree. */
  highest(): Promise<ReadonlyMap<Key, number>>;
  close(): void;
}

/** What time it is inside a step. */
export type StepTime = EpochTime;

/**
 * What a script may ask for while its step is under way. Locks are taken and given back as the lock verbs do it, with
 * their audit entries, in the same step.
 */
export type Ask =
  | { readonly ask: "rows"; readonly sql: string; readonly values: readonly unknown[] }
  | { readonly ask: "time" }
  /** A number higher than all before it in the tree. */
  | { readonly ask: "fence"; readonly tree: Key }
  | { readonly ask: "acquire"; readonly request: AcquireRequest }
  | { readonly ask: "renew" | "check"; readonly locks: JobLocks }
  /** Ends those that are still there, and ignores the others. A server refuses while one of them is being committed under. */
  | { readonly ask: "release"; readonly locks: JobLocks; readonly party: Party }
  /** Gives a place in line back. */
  | { readonly ask: "leave"; readonly ticketId: string; readonly wants: readonly Want[]; readonly party: Party }
  /** Whoever listens is woken once the step is committed. */
  | { readonly ask: "wake" }
  | { readonly ask: "audit"; readonly entry: ScriptEntry }
  /** What the store can do by itself in one go, by name; answered with undefined where it cannot. */
  | { readonly ask: "express"; readonly name: string; readonly values: Readonly<Record<string, unknown>> }
  /** Statements of the caller's own, in the same step. */
  | { readonly ask: "caller"; readonly body: (sql: Sql) => unknown };

/**
 * The locks of a job's run, by their ids and the owner `job:ID`. Slots keep no token and no hash of one: every worker may
 * read them, and ends a run whose worker is gone.
 */
export interface JobLocks {
  readonly job: number;
  readonly grants: readonly Pick<GrantRef, "resource" | "lockId">[];
}

export interface ScriptEntry {
  readonly event: AuditEvent;
  readonly resource: Key;
  readonly party: Party;
  readonly fencingToken: number | null;
  readonly details: Readonly<Record<string, unknown>>;
}

/** One step of several statements and lock verbs, written as a generator: it yields what it asks for, and is answered. */
export type Script<T> = Generator<Ask, T, unknown>;

export interface Scripts {
  /** Runs the script in one atomic step. It may begin anew, after all it had done was undone. */
  run<T>(script: () => Script<T>, options: { readonly durable: boolean }): Promise<T>;
  /** A script that asks for rows and the time only, and changes nothing: all of it is of one moment, and blocks nobody. */
  look<T>(script: () => Script<T>): Promise<T>;
  /** Calls back, perhaps too often, when a script asked for `wake`: on SQLite those of this process, on a server all. */
  listen(onWake: () => void): Disposable;
}
