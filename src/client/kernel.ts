/**
 * The inner door of the client: the calls on a Holdfast instance or a lease that features use beside the public ones. A
 * verb stands here when at least two features need it, or one that cannot do its work without it; a feature whose whole
 * work stands on a role of the store (jobs on scripts, publish on manifests) gets that role. Features reach nothing
 * else of the store.
 */
import type { AuditEvent } from "../lock/audit.js";
import type { Grant, Want } from "../lock/grant.js";
import type { Key } from "../lock/key.js";
import type { Life } from "../lock/profile.js";
import { PATH_TREE } from "../lock/reserved-kinds.js";
import type { Settings } from "../lock/settings.js";
import type { Clock } from "../platform/clock.js";
import type {
  Abilities,
  GrantRef,
  Inspection,
  Manifests,
  NamedLeases,
  Party,
  Presented,
  Scripts,
  Transactions,
} from "../store/contract.js";
import { assertFoldersFree } from "./deliverable/folder-locks.js";
import type { Holdfast } from "./holdfast.js";
import type { BorrowedLease } from "./lease/borrowed-lease.js";
import { findHeld, grantPages } from "./lease/held-tokens.js";
import type { Lease } from "./lease/lease.js";
import type { LeaseHome } from "./lease/lease-context.js";
import type { HeldInStore } from "./lease/store-watch.js";
import type { AcquireOptions } from "./options.js";
import { assertOwnFile, keyToHold } from "./workspace/own-files.js";
import { withPayloads } from "./workspace/payload-key.js";

export type {
  AcquireRequest,
  Answer,
  FencedRef,
  ForeignRows,
  GrantRef,
  JobLocks,
  ManifestDraft,
  ManifestPage,
  Manifests,
  NamedLeases,
  Party,
  Reader,
  Script,
  Scripts,
  Sql,
  SqlRow,
  StepTime,
} from "../store/contract.js";
export { openForeignRows } from "../store/open.js";

/** What the audit chain keeps of a commit, beside who made it. */
interface CommitNote {
  readonly event: AuditEvent;
  readonly details: Readonly<Record<string, unknown>>;
}

export interface Kernel {
  /** Tells the time of this machine and of its calendar. */
  readonly clock: Clock;
  /** Holds the environment of this process, for the commands and modules that a feature starts. */
  readonly env: NodeJS.ProcessEnv;
  /** Names the owner and the process that every request comes from; the first use makes the proof that it lives. */
  readonly requester: Party;
  /** Names the store as it was opened, with its password: another process opens the same store with it. */
  readonly url: string;
  /** Names the store for a process that must not open another one in its place. */
  readonly storeId: string;
  /** Holds the levels and recovery profiles that the store has on record. */
  readonly settings: Settings;
  /** Says what the store can do. */
  readonly abilities: Abilities;
  /** Returns the key of a file or folder that is replaced; null when it lies in no workspace. See `keyToHold`. */
  pathKeyOf(path: string): Key | null;
  /**
   * Returns these keys with those of the payloads of worktrees that a write lock on them holds as well. Throws for a key of
   * files that it does not share, and for one that is not the key of the file that it names.
   */
  withPayloads(keys: readonly Key[]): readonly Key[];
  /** Acquires these keys as another client would, and without the payloads that they stand for. As `Holdfast.acquire`. */
  acquireAlone(keys: string | readonly string[], options: AcquireOptions): Promise<Lease>;
  /** Throws when a folder around a file is locked by its `_LOCK.json` under another name: `E_LOCK_CONFLICT`. */
  assertFoldersFree(keys: readonly Key[]): void;
  /** Reads the grants and the waiters on, above and below a key; hashes of tokens are shown only of grants among `known`. */
  inspect(resource: Key, known?: readonly string[]): Promise<Inspection>;
  /** Says whether the process behind a grant lives, as far as the store can tell. */
  life(of: Grant): Life;
  /** Reads all grants on a key and below it, in the order of keys, page by page. */
  pages(prefix: Key): AsyncGenerator<readonly Grant[], void>;
  /** Reads all grants on files, of all worktrees and workspaces; hashes of tokens as for `inspect`. */
  filePages(known?: readonly string[]): AsyncGenerator<readonly Grant[], void>;
  /** Finds everything that is held under these hashes of lease tokens, in the whole store, and has not run out. */
  findHeld(hashes: ReadonlySet<string>): Promise<readonly Presented[]>;
  /** Extends all of these grants, or none; null keeps the length of each. `E_LOCK_NOT_HELD`, `E_LOCK_EXPIRED`. */
  renew(grants: readonly GrantRef[], leaseMs: number | null): Promise<readonly Grant[]>;
  /** Replaces these grants by new ones under another token; the old token opens nothing afterwards. */
  resume(grants: readonly GrantRef[], tokenHash: string): Promise<readonly Grant[]>;
  /** Ends these grants. `E_LOCK_NOT_HELD` when none of them is there. */
  release(grants: readonly GrantRef[]): Promise<void>;
  /** Returns the live grant with this fencing token on the resource or above it; else throws what a failed check throws. */
  verify(resource: Key, fencingToken: number): Promise<Grant>;
  /** Runs `write` in the step that checks these grants; with a note, its audit entry belongs to that step. */
  commit<T>(grants: readonly GrantRef[], write: () => T, note?: CommitNote): Promise<T>;
  /** Runs `write` in a step in which none of these keys is held, where `abilities.commitsFree`. `E_LOCK_CONFLICT`. */
  commitFree<T>(resources: readonly Key[], write: () => T): Promise<T>;
  /** Puts on record that the requester was refused something before it asked for any lock. */
  refuse(resource: Key, reasons: Readonly<Record<string, unknown>>): Promise<void>;
  /** Tells of the loss of the store, within a second, what is held in it beside leases. Dispose when it is over. */
  whileHeld(held: HeldInStore): Disposable;
  /** Keeps the record of what is published. */
  readonly manifests: Manifests;
  /** Runs scripts; null where the store has no tables for jobs. */
  readonly scripts: Scripts | null;
  /** Runs transactions on rows of the caller's own; null where the store is no database. */
  readonly transactions: Transactions | null;
  /** Keeps leases by name; null where they are made of grants. */
  readonly namedLeases: NamedLeases | null;
}

/** Returns the kernel of a Holdfast instance or of a lease. `E_INVALID_ARGUMENT` for an instance that was closed. */
export function kernelOf(from: Holdfast | Lease | BorrowedLease): Kernel {
  return from.kernel;
}

/** Makes the kernel of one Holdfast instance. */
export function createKernel(home: LeaseHome): Kernel {
  const { store, clock, files } = home;
  const { locks, fence } = store;
  return {
    clock,
    env: home.env,
    get requester() {
      return home.party;
    },
    url: store.url,
    storeId: store.id,
    settings: store.settings,
    abilities: store.abilities,
    pathKeyOf: (path) => keyToHold(files, path, store.id),
    withPayloads(keys) {
      for (const key of keys) assertOwnFile(files, key);
      return withPayloads(files, keys.map(asWrite)).map(({ resource }) => resource);
    },
    acquireAlone: (keys, options) => home.acquireAlone(keys, options),
    assertFoldersFree(keys) {
      if (files.kind !== "workspace") return;
      for (const key of keys) assertFoldersFree(files.root, key, home.party.owner);
    },
    inspect: (resource, known) => store.reader.inspect(resource, known),
    life: (of) => store.reader.life(of),
    pages: (prefix) => grantPages(store.reader, prefix),
    filePages: (known) => grantPages(store.reader, null, known, PATH_TREE),
    findHeld: (hashes) => findHeld(home, hashes),
    renew: (grants, leaseMs) => locks.renew(grants, leaseMs),
    resume: (grants, tokenHash) => locks.resume(grants, tokenHash, home.party),
    release: (grants) => locks.release(grants, home.party),
    verify: (resource, fencingToken) => fence.verify(resource, fencingToken),
    commit: (grants, write, note) =>
      fence.commit(grants, write, note === undefined ? undefined : { ...note, party: home.party }),
    commitFree: (resources, write) => fence.commitFree(resources, write),
    refuse: (resource, reasons) => locks.refuse(resource, home.party, reasons),
    whileHeld: (held) => home.holdings.bind(held),
    get manifests() {
      return store.manifests;
    },
    get scripts() {
      return store.scripts;
    },
    get transactions() {
      return store.transactions;
    },
    namedLeases: store.namedLeases,
  };
}

function asWrite(resource: Key): Want {
  return { resource, mode: "write", permits: null };
}
