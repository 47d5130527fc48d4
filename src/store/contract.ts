/**
 * The contract of a store: what it promises to the layer above. Every call is one atomic step of the store: it happens
 * whole, together with its audit entries, or not at all. Calls are conditional: they name the grant by id and by the
 * hash of its lease token, and change nothing when that grant is not there any more.
 *
 * A store does not wait for locks, renew leases by itself or retry: that is written once, above.
 */
import type { AuditEntry, AuditEvent, AuditFilter } from "../lock/audit.js";
import type { Contention } from "../lock/contention.js";
import type { Grant, Kept, Metadata, Proof, Ticket, UnreadableGrant, Want } from "../lock/grant.js";
import type { Key } from "../lock/key.js";
import type { Life } from "../lock/profile.js";
import type { Settings } from "../lock/settings.js";
import type { Clock } from "../platform/clock.js";
import type { InheritedProof } from "../platform/process/command-processes.js";
import type { Scripts, Transactions } from "./database-contract.js";
import type { Manifests } from "./manifest-contract.js";

export type {
  Ask,
  ForeignRows,
  JobLocks,
  Script,
  ScriptEntry,
  Scripts,
  Sql,
  SqlRow,
  StepTime,
  Transactions,
} from "./database-contract.js";

export type { ManifestDraft, ManifestPage, ManifestRef, Manifests, Seal } from "./manifest-contract.js";

/** Who asks. */
export interface Party {
  readonly owner: string;
  readonly holderId: string;
  readonly nonce: string;
  readonly proof: Proof;
}

/** A grant as its holder names it. */
export interface GrantRef {
  readonly resource: Key;
  readonly lockId: string;
  readonly tokenHash: string;
}

/** A grant with its number. */
export interface FencedRef extends GrantRef {
  readonly fencingToken: number;
}

/**
 * A grant that the client holds, by which the grants of its own request do not conflict with it. The client sends only what
 * the store still has; a server counts a key only with the token that holds it.
 */
export interface Presented {
  readonly resource: Key;
  readonly tokenHash: string;
}

export interface Waiting {
  /** 0: answer at once, do not stand in line. */
  readonly waitMs: number;
  /** The place in line taken by an earlier try of the same request. */
  readonly ticketId: string | null;
}

export interface AcquireRequest extends Waiting {
  readonly wants: readonly Want[];
  readonly party: Party;
  readonly tokenHash: string;
  readonly leaseMs: number;
  readonly graceMs: number | null;
  readonly detached: boolean;
  readonly metadata: Metadata;
  readonly presented: readonly Presented[];
  readonly strictOrder: boolean;
  /** Only take over from a recoverable holder; `E_NOT_FOUND` when there is none. */
  readonly mustSteal: boolean;
  /** While it waits, whoever releases the key may grant it: it looks for that with `handed`. One key, nothing presented. */
  readonly mayInherit?: boolean;
}

export interface UpgradeRequest extends Waiting {
  readonly grant: GrantRef;
  readonly party: Party;
  readonly presented: readonly Presented[];
}

/** What a request waits for, and who has it or is before it in line. */
export type InTheWay = Pick<Contention, "resource" | "owner">;

export type Answer =
  /**
   * `ended`: what was taken over from holders that are gone. `since`: a moment (milliseconds since boot) before which it
   * was not granted, when it may have been before it was asked for.
   */
  | {
      readonly kind: "granted";
      readonly grants: readonly Grant[];
      readonly ended: readonly Grant[];
      readonly since?: number;
    }
  /** `ahead`: how many in line may be before this request. A request without time to wait gets the whole report. */
  | { readonly kind: "queued"; readonly ticketId: string; readonly ahead: number; readonly inTheWay: InTheWay }
  | { readonly kind: "conflict"; readonly contention: Contention };

export interface EndRequest {
  readonly resource: Key;
  readonly party: Party;
  readonly how: "recovered" | "broken";
  /** Written reason; required for a break. */
  readonly reason: string | null;
}

export interface Locks {
  /** `E_LOCK_ORDER`, `E_INVALID_ARGUMENT`, `E_CONFIG` when it is refused whatever the time. */
  acquire(request: AcquireRequest): Promise<Answer>;
  /** upgradeable → write with a new fencing token. Same refusals, and those of `renew`. */
  upgrade(request: UpgradeRequest): Promise<Answer>;
  /** write or upgradeable → read, keeping the tokens; all, or none: `E_LOCK_ORDER` while something nests in one. */
  downgrade(grants: readonly GrantRef[], party: Party): Promise<readonly Grant[]>;
  /** Extends all, or none: `E_LOCK_NOT_HELD` when one was ended, `E_LOCK_EXPIRED` when one has lapsed. */
  renew(grants: readonly GrantRef[], leaseMs: number | null): Promise<readonly Grant[]>;
  /** Lapsed grants that nobody has ended become new ones with new fencing tokens. */
  resume(grants: readonly GrantRef[], tokenHash: string, party: Party): Promise<readonly Grant[]>;
  /** `E_LOCK_NOT_HELD` when none of them is there; `E_LOCK_ORDER` while something nests in one. */
  release(grants: readonly GrantRef[], party: Party): Promise<void>;
  /** Gives a place in line back; with `report` the refusal is audited. */
  leave(ticketId: string, wants: readonly Want[], party: Party, report: Contention | null): Promise<void>;
  /** Notes in a ticket the grants that its waiter keeps until the wait ends; null takes the note back. */
  noteKept(ticketId: string, wants: readonly Want[], kept: readonly Kept[] | null): Promise<void>;
  /** Returns what a release has granted to the waiter with this token. Only where `abilities.handsOver`. */
  handed(resource: Key, tokenHash: string): Grant | null;
  /** Puts on record that something was refused before any lock was asked for, with the reasons. */
  refuse(resource: Key, party: Party, reasons: Readonly<Record<string, unknown>>): Promise<void>;
  /** Ends grants without their holder. Recovery ends what is recoverable, a break everything on the key itself. */
  end(request: EndRequest): Promise<readonly Grant[]>;
}

export interface Fence {
  /** The live grant with this number on the resource or above it; else the three errors of a failed check. */
  verify(resource: Key, fencingToken: number): Promise<Grant>;
  /**
   * Runs `write` once, after the check and before another holder can take over. With `tale` an entry for each grant is part
   * of the same step.
   */
  commit<T>(grants: readonly GrantRef[], write: () => T, tale?: CommitTale): Promise<T>;
  /**
   * Runs `write` while nobody holds these, before anybody can begin to. `E_LOCK_CONFLICT` with the report. Only where
   * `abilities.commitsFree`.
   */
  commitFree<T>(resources: readonly Key[], write: () => T): Promise<T>;
}

/** What the audit chain is to keep of a commit. */
export interface CommitTale {
  readonly event: AuditEvent;
  readonly party: Party;
  readonly details: Readonly<Record<string, unknown>>;
}

/** Reading takes no lock and creates no files. */
export interface Reader {
  /** Says whether the process behind a grant or a ticket lives; a server accepts no report of a death, so `unknown`. */
  life(of: Grant | Ticket): Life;
  /** Where token hashes are kept secret, grants show only those that are among `known`. */
  inspect(resource: Key, known?: readonly string[]): Promise<Inspection>;
  /** In the order of keys; `after` continues a listing behind that key and id. */
  list(page: ListPage): Promise<readonly Grant[]>;
  /**
   * All places in line, also those in which nobody stands any more: tree by tree in their order, in each as they are
   * served. One in several trees is told once, in the first of them.
   */
  waiting(limit: number): Promise<readonly Ticket[]>;
  audit(page: AuditPage): Promise<readonly AuditEntry[]>;
  verifyAudit(tree: Key | null): Promise<AuditVerdict>;
  /** Chains with how many entries each has: where to go on reading. */
  auditHeads(): Promise<ReadonlyMap<Key, number>>;
}

export interface Inspection {
  readonly resource: Key;
  readonly grants: readonly Grant[];
  readonly waiters: readonly Ticket[];
  readonly unreadable: readonly UnreadableGrant[];
  /** The last number given out in the tree. */
  readonly fencingToken: number;
  readonly settings: Settings;
}

export interface ListPage {
  readonly prefix: Key | null;
  /** Only trees whose names begin with this text; other trees are not looked at. Not beside a prefix. */
  readonly stem?: string;
  readonly after: { readonly resource: Key; readonly lockId: string } | null;
  readonly limit: number;
  /** As for `inspect`. */
  readonly known?: readonly string[];
}

/** Leases held by a name instead of a process, where the store itself knows them. */
export interface NamedLeases {
  /** A lease token, or null while another holder has it; the same holder gets a new one, and its old one dies. */
  acquire(name: string, holder: string, leaseMs: number, owner: string): Promise<string | null>;
}

export interface AuditPage extends AuditFilter {
  readonly tree: Key;
  readonly afterSeq: number;
  readonly limit: number;
}

export interface AuditVerdict {
  readonly ok: boolean;
  readonly chains: number;
  readonly entries: number;
  readonly bad: readonly BadEntry[];
}

export interface BadEntry {
  readonly tree: string;
  readonly seq: number;
  readonly why: string;
}

/** Mending what is broken. Only `doctor` asks for it, and only when it was told to repair or that a store was restored. */
interface Upkeep {
  /**
   * Raises the fence of a tree above a number, durably. Audited. Returns the new number. `E_FORBIDDEN` for an owner that is
   * not a person; on a server also for an account that is not an administrator's.
   */
  raiseFence(tree: Key, above: number, party: Party): Promise<number>;
  /**
   * Ends what is recorded on this key and cannot be read, never what a newer version wrote. Audited. Returns how many.
   * Only where `abilities.clearsUnreadable`.
   */
  clearUnreadable(resource: Key, party: Party): Promise<number>;
  /** Takes places in line away that have lapsed. Returns how many. */
  dropStaleTickets(tree: Key): Promise<number>;
}

/** A store that is only looked at: nothing is created, opened for writing, migrated or repaired. */
export interface Examination {
  /** As of the store when it is open. */
  readonly url: string;
  /** As of the store when it is open. */
  readonly id: string;
  readonly reader: Reader;
  readonly manifests: Pick<Manifests, "list">;
  readonly settings: Settings;
  /** Where its proofs of life lie; null on a server, which takes nobody's word for a death. */
  readonly proofs: string | null;
  /** The files whose kernel locks guard it. */
  readonly guards: readonly string[];
  /** What is wrong with the files themselves, in words. */
  integrity(): readonly string[];
  /** Null for a store that is not on a server. */
  readonly server: ServerFacts | null;
  close(): void | Promise<void>;
}

/** What a server says of itself. */
interface ServerFacts {
  /** Its functions are not those of this version. */
  readonly isOutdated: boolean;
  /** Settings under which it forgets in a crash what it has promised. */
  readonly forgetful: readonly string[];
  /** Roles of Holdfast that may not call its functions. */
  readonly closedRoles: readonly string[];
}

/** Wakes whoever waits for a change: in this process at once, in others through the system. */
export interface WakeUps {
  /** Calls `onWake` when this ticket may be able to go, perhaps too often. Dispose to stop listening. */
  listen(nonce: string, ticketId: string, onWake: () => void): Listening;
}

export interface Listening extends Disposable {
  /** A wake-up may have gone by unheard before this began: look once more. */
  readonly mayHaveMissed: boolean;
}

/** A proof that a command inherits: what is held with it counts as alive while any process has the descriptor open. */
export interface CommandProof extends InheritedProof {
  readonly proof: Proof;
}

/** One step of a store's schema that it has not taken yet. */
export interface MigrationStep {
  readonly version: number;
  readonly about: string;
  readonly statements: string;
}

/** A store seen from outside: what opening it would change, and how to take it away. */
export interface Installation {
  /** Empty when it is up to date. Changes nothing and creates nothing. `E_FORMAT_UNSUPPORTED` for a newer one. */
  pending(): Promise<readonly MigrationStep[]>;
  /** Sets it up or brings it up to date; does nothing where opening it does that. */
  /** Returns what the server warned of. */
  install(): Promise<readonly string[]>;
  /** Drops everything of ours; false when there is nothing. `E_LOCK_CONFLICT` while anything is held. */
  uninstall(clock: Clock): Promise<boolean>;
}

/**
 * What a store can do beside what every store can. A caller looks at the fact before it calls the method that the fact is
 * about: where the fact is false, that method throws.
 */
export interface Abilities {
  /** A waiter sees by `locks.handed`, without a step, what a release has granted it. False: the next answer tells it. */
  readonly handsOver: boolean;
  /** `fence.commitFree` checks and writes in one step. False: the caller takes the lock for the write. */
  readonly commitsFree: boolean;
  /** `upkeep.clearUnreadable` ends what cannot be read. False, on a server: an administrator deletes the row. */
  readonly clearsUnreadable: boolean;
  /** A command inherits the proof of `proveForCommand`. False: the process that runs it takes the proof of `prove`. */
  readonly commandsInherit: boolean;
}

/**
 * Three whole roles are null where the store lacks them: `transactions`, `scripts` and `namedLeases`. So the compiler shows
 * each caller where it has to decide, and a role in hand always works.
 */
export interface Store {
  /** How it was opened: `memory:`, `file:DIR`, `sqlite:PATH`, `postgres://…`. Another thread opens the same with it. */
  readonly url: string;
  /** Made at random with the store and never changed; a copy of the store has the same. In memory: its URL. */
  readonly id: string;
  readonly settings: Settings;
  readonly abilities: Abilities;
  readonly locks: Locks;
  readonly fence: Fence;
  /** Null where the store is no database. */
  readonly transactions: Transactions | null;
  /** Null where the store has no tables for jobs. */
  readonly scripts: Scripts | null;
  readonly reader: Reader;
  readonly upkeep: Upkeep;
  /** Null where they are made of grants. */
  readonly namedLeases: NamedLeases | null;
  readonly wakeUps: WakeUps;
  readonly manifests: Manifests;
  /**
   * Records the workspace with this id as the store's first, unless one is recorded, and returns the recorded id. Durable
   * when it returns, and the same from then on.
   */
  adoptWorkspace(id: string): Promise<string>;
  /**
   * Throws the error of a lost store (`isLostStore`) when its place does not name the store that is open, and `E_IO` when
   * it cannot tell. Does nothing in memory, and nothing on a server, where every call names the id of the store.
   */
  assertInPlace(): void;
  /** Makes this process known as alive, and gives the proof to put into its grants. */
  prove(nonce: string, about: Readonly<Record<string, unknown>>): Proof;
  /** The same for a process and the command it runs. Only where `abilities.commandsInherit`. */
  proveForCommand(nonce: string, about: Readonly<Record<string, unknown>>): CommandProof;
  /** With `leavesGrants` the proof of this process stays where others find it: they can tell that it is gone. */
  close(leavesGrants?: boolean): Promise<void>;
}
