/**
 * The contract of a ledger, which memory, file and SQLite each fulfill in their own way: it keeps grants, tickets,
 * fence counters and audit chains, and changes them in one atomic step under a guard. Everything else about locks is
 * written once, in `local/local-store.ts` and `operations/`.
 */
import type { AuditDraft, AuditEntry } from "../lock/audit.js";
import type { Neighbourhood } from "../lock/decide.js";
import type { Grant, Ticket } from "../lock/grant.js";
import type { Key } from "../lock/key.js";
import type { Manifest, ManifestFile } from "../lock/manifest.js";
import type { Settings } from "../lock/settings.js";
import type { Instant } from "../lock/time.js";
import type { AuditPage, BadEntry, ListPage, ManifestPage, Sql, SqlRow } from "./contract.js";

/** What the guard shows to whoever holds it. */
export interface LedgerView {
  /** Read after the guard was taken: time spent waiting for it counts. */
  readonly now: Instant;
  /** Grants and tickets on these keys, above and below them, each once, as `inOrder` has them. */
  near(keys: readonly Key[]): Neighbourhood;
  find(resource: Key, lockId: string): Grant | null;
  /** Returns the next fencing token of a tree: higher than `above` and any before it, whatever crashed in between. */
  mint(tree: Key, above?: number): number;
  /** A number for a new ticket that sorts behind every ticket in these trees. */
  nextTicketNumber(): number;
  /** Pending manifests on these keys, above and below them. Costs nothing in a tree where nothing is published. */
  publishing(keys: readonly Key[]): readonly Manifest[];
  /** Manifests of this target, oldest first; until the step ends nobody else looks there. */
  manifestsOf(target: string): readonly Manifest[];
}

/** What a step changes. All of it becomes true at once, or nothing. */
export interface Changes {
  readonly adds?: readonly Grant[] | undefined;
  /** Grants that are there already, with new values. */
  readonly updates?: readonly Grant[] | undefined;
  readonly drops?: readonly Grant[] | undefined;
  readonly ticketAdds?: readonly Ticket[] | undefined;
  readonly ticketUpdates?: readonly Ticket[] | undefined;
  readonly ticketDrops?: readonly Ticket[] | undefined;
  readonly audit?: readonly AuditDraft[] | undefined;
  /** Manifests, new or with new values. */
  readonly manifests?: readonly Manifest[] | undefined;
  readonly manifestDrops?: readonly Manifest[] | undefined;
  /** Files to add to the list of a manifest. */
  readonly files?: { readonly manifest: Manifest; readonly files: readonly ManifestFile[] } | undefined;
  /** Keys whose unreadable records go, but for those of a newer version. */
  readonly clears?: readonly Key[] | undefined;
  /**
   * Must survive a power cut before it is acknowledged, whichever grants it changes (durability.ts has the rule for these).
   * `soon`: others may see it before, and whoever asks for the step waits with `sync`.
   */
  readonly durable?: boolean | "soon" | undefined;
  /** Waiters that are granted something by it: they need no guard, and are told as soon as it counts. */
  readonly heirs?: readonly Ticket[] | undefined;
  /** Waiters to tell once it is done, so that they do not meet it at the guard. */
  readonly wake?: readonly Ticket[] | undefined;
}

export interface Outcome<T> {
  readonly result: T;
  readonly changes: Changes | null;
  /** Called once the changes count, before what is not part of them is written and the guard is left. Must not throw. */
  readonly whenMade?: (() => void) | undefined;
}

export interface Ledger {
  readonly url: string;
  /** As `Store.id`. */
  readonly id: string;
  readonly settings: Settings;
  /**
   * Takes the guards of these trees, runs `body` and writes the changes it asks for. A body that asks the view about another
   * tree is in that tree, too. `body` is synchronous, may throw to change nothing, and may run more than once. `E_STORE_UNAVAILABLE` when the guard is not to be had in time. A step that
   * says beforehand that its changes are durable (`once`), or whose changes are not or only `soon`, and that mints nothing,
   * runs its body once.
   */
  transact<T>(trees: readonly Key[], body: (view: LedgerView) => Outcome<T>, once?: boolean): Promise<T>;
  /** Resolves when all steps that this ledger has made are on the disk. `E_IO`: it is not known whether they are. */
  sync(standStill: boolean): Promise<void>;
  /** The grant on this key with this token, without the guard. Null also when it cannot be read just now. */
  held(key: Key, tokenHash: string): Grant | null;
  readonly records: LedgerRecords;
  /** As `Store.adoptWorkspace`. */
  adoptWorkspace(id: string): Promise<string>;
  /** As `Store.assertInPlace`. */
  assertInPlace(): void;
  /** Null where the ledger is no database. */
  readonly callerRows: CallerRows | null;
  /** Null where the ledger has no tables for jobs. */
  readonly scripting: Scripting | null;
  close(): void;
}

/** Steps that run statements and change locks as they go. */
export interface Scripting {
  /** As `transact`, on any tree. `body` may run more than once, each time after all it had done was undone. */
  transact<T>(body: (step: ScriptStep) => T, isDurable: boolean): Promise<T>;
  /** Reads at one moment, beside whoever writes. */
  look<T>(body: (step: Pick<ScriptStep, "now" | "rows">) => T): Promise<T>;
}

export interface ScriptStep {
  readonly now: Instant;
  /** The view for a verb on these trees; it shows what was applied before. */
  view(trees: readonly Key[]): LedgerView;
  apply(changes: Changes): void;
  rows(sql: string, values: readonly unknown[]): SqlRow[];
  caller<T>(body: (sql: Sql) => T): T;
}

/** Rows of the caller's own in the ledger's database. */
export interface CallerRows {
  /** As `transact`, but `body` runs once, after `check` in the same step, and what it writes is kept, durably. */
  write<T>(
    trees: readonly Key[],
    check: (view: LedgerView) => void,
    body: (sql: Sql) => T,
    limitMs: number,
  ): Promise<T>;
  read<T>(body: (sql: Sql) => T, snapshot: boolean, limitMs: number): Promise<T>;
}

/** Reading without the guard: each grant is seen as it was or as it is, never half. */
export interface LedgerRecords {
  near(key: Key): Neighbourhood;
  lastFence(tree: Key): number;
  list(page: ListPage): Grant[];
  /** As `Reader.waiting`. */
  waiting(limit: number): Ticket[];
  heads(): Map<Key, number>;
  audit(page: AuditPage): AuditEntry[];
  /** The first entry of the chain that is not as it was written, or null, and how many were read. */
  checkChain(tree: Key): { entries: number; bad: BadEntry | null };
  manifests(page: ManifestPage): Manifest[];
  files(manifest: Manifest, after: string | null, limit: number): ManifestFile[];
}
