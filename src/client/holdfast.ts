/** The Holdfast instance: one store, one owner, one process. */
import { setMaxListeners } from "node:events";
import { checkOptions, type OptionNames } from "../base/check-options.js";
import type { Duration } from "../base/duration.js";
import { HoldfastError, invalidArgument } from "../base/errors.js";
import { isLostStore } from "../base/lost-store.js";
import { SharedTimer } from "../base/shared-timer.js";
import { withoutPassword } from "../base/without-password.js";
import { type Grant, type GrantRecord, toRecord } from "../lock/grant.js";
import { isWithin, type Key, parseKey } from "../lock/key.js";
import { isFileKey } from "../lock/reserved-kinds.js";
import type { Instant } from "../lock/time.js";
import type { Clock } from "../platform/clock.js";
import type { CommandProof, Store } from "../store/contract.js";
import { assertFoldersFree } from "./deliverable/folder-locks.js";
import { tell } from "./events.js";
import { Identity, newToken } from "./identity.js";
import { createKernel, type Kernel } from "./kernel.js";
import { type BorrowedLease, createBorrowedLease } from "./lease/borrowed-lease.js";
import { createDetachedLease, type DetachedLease } from "./lease/detached-lease.js";
import { Holdings } from "./lease/held-leases.js";
import type { Lease } from "./lease/lease.js";
import type { LeaseFamily, LeaseHome } from "./lease/lease-context.js";
import { releasedAfter } from "./lease/released-after.js";
import { LOOK_EVERY_MS } from "./lease/store-watch.js";
import { type AcquireOptions, AT_ONCE, type ParsedAcquire, parseAcquire } from "./options.js";
import { type AuditTrail, createAuditTrail } from "./reading/audit-trail.js";
import { type Explanation, explain, explainNear, inLine, type Waits, waits } from "./reading/explain.js";
import { type LockStatus, toStatus, type WaiterRecord } from "./reading/lock-status.js";
import type { Heart } from "./renewing/renewer.js";
import { type TakingPlace, takeLocks } from "./waiting/acquire-locks.js";
import { untilFree } from "./waiting/until-free.js";
import type { Files } from "./workspace/open-store.js";
import { assertOwnFile } from "./workspace/own-files.js";
import { requestWithPayloads } from "./workspace/payload-key.js";
import type { SettingsInForce } from "./workspace/settings-in-force.js";
import { assertRecorded } from "./workspace/workspace-record.js";

export interface WorkplaceFacts {
  readonly store: Store;
  readonly owner: string;
  readonly clock: Clock;
  /** Makes what renews leases, with the first lease. */
  readonly createHeart: () => Heart;
  readonly ttl: Duration | undefined;
  readonly wait: Duration | undefined;
  readonly env: NodeJS.ProcessEnv;
  readonly graceMs: number | null;
  readonly strictOrder: boolean;
  /** Holds for a command that it runs: see runtime/. */
  readonly runsCommand?: boolean;
  /** The files that its keys may name. */
  readonly files: Files;
  readonly settings: SettingsInForce;
}

export interface ListOptions {
  /** A key: what is held on it and below it. */
  readonly prefix?: string;
  /** At most this many; default 1,000, at most 50,000. */
  readonly limit?: number;
  /** Goes on behind the last record of an earlier page. */
  readonly after?: Pick<GrantRecord, "resource" | "lock_id">;
}

export interface WaitsOptions {
  /** At most this many waiters; default 1,000, at most 50,000. */
  readonly limit?: number;
}

const LIST: OptionNames<ListOptions> = { prefix: true, limit: true, after: true };
const WAITS: OptionNames<WaitsOptions> = { limit: true };
const UNTIL_FREE: OptionNames<Pick<AcquireOptions, "mode" | "wait" | "signal">> = {
  wait: true,
  mode: true,
  signal: true,
};
const BREAK: OptionNames<{ readonly reason: string }> = { reason: true };
const WATCH: OptionNames<{ readonly signal?: AbortSignal }> = { signal: true };

export class Holdfast {
  readonly owner: string;
  /** The settings in force, each with its source. */
  readonly settings: SettingsInForce;
  readonly #facts: WorkplaceFacts;
  readonly #identity: Identity;
  readonly #home: LeaseHome;
  readonly #place: TakingPlace;
  readonly #holdings: Holdings;
  readonly #closing = new AbortController();
  #closed: Promise<void> | null = null;
  #audit: AuditTrail | null = null;
  #heart: Heart | null = null;
  #lookedAt = Number.NEGATIVE_INFINITY;

  /** @internal Use `openHoldfast`. */
  constructor(facts: WorkplaceFacts) {
    this.#facts = facts;
    this.#holdings = new Holdings(() => this.#assertStore());
    this.owner = facts.owner;
    this.settings = facts.settings;
    setMaxListeners(0, this.#closing.signal); // As many as wait; Node warns of a leak from the eleventh on.
    const identity = new Identity(facts.store, facts.owner, facts.runsCommand);
    this.#identity = identity;
    let kernel: Kernel | null = null;
    const heart = (): Heart => this.#madeHeart();
    this.#home = {
      store: facts.store,
      clock: facts.clock,
      get heart() {
        return heart();
      },
      endings: new SharedTimer(),
      looks: new SharedTimer({ keepsAlive: true }),
      wait: facts.wait,
      env: facts.env,
      closing: this.#closing.signal,
      holdings: this.#holdings,
      get party() {
        return identity.party;
      },
      get kernel() {
        kernel ??= createKernel(this);
        return kernel;
      },
      acquire: (keys, options, family) => this.#acquire(parseAcquire(keys, options, facts), family, false),
      acquireAlone: (keys, options) => this.#take(parseAcquire(keys, options, facts), new Set(), false),
      files: facts.files,
      newToken,
    };
    this.#place = { home: this.#home, identity, graceMs: facts.graceMs, strictOrder: facts.strictOrder };
  }

  #madeHeart(): Heart {
    // mutant: heart-once: this.#heart ??= → this.#heart =
    this.#heart ??= this.#facts.createHeart();
    return this.#heart;
  }

  /** Reads the audit trail. */
  get audit(): AuditTrail {
    this.#audit ??= createAuditTrail(this.#facts.store);
    return this.#audit;
  }

  /** @internal What features build on: see `kernelOf`. */
  get kernel(): Kernel {
    this.#assertOpen();
    return this.#home.kernel;
  }

  /** Where the locks are kept, without a password. */
  get storeUrl(): string {
    // mutant: postgres-password: return withoutPassword(this.#facts.store.url); → return this.#facts.store.url;
    return withoutPassword(this.#facts.store.url);
  }

  /** @internal What the command run here inherits. */
  get commandProof(): CommandProof | null {
    return this.#identity.commandProof;
  }

  /**
   * Takes all keys or none, waiting in line if need be. `E_LOCK_CONFLICT` with `wait: 0`, `E_LOCK_TIMEOUT` after it,
   * `E_INVALID_ARGUMENT`, `E_CONFIG`; the signal's reason when it aborts.
   */
  async acquire(keys: string | readonly string[], options: AcquireOptions = {}): Promise<Lease> {
    return await this.#acquire(parseAcquire(keys, options, this.#facts), new Set(), false);
  }

  /** The lease, or null when it is taken. Does not wait. */
  async tryAcquire(
    keys: string | readonly string[],
    options: Omit<AcquireOptions, "wait"> = {},
  ): Promise<Lease | null> {
    checkOptions(options, AT_ONCE);
    try {
      return await this.acquire(keys, { ...options, wait: 0 });
    } catch (error) {
      if (error instanceof HoldfastError && error.code === "E_LOCK_CONFLICT") return null;
      throw error;
    }
  }

  /** Runs `work` while the lock is held, and releases it on success and on failure. */
  async withLock<T>(
    keys: string | readonly string[],
    options: AcquireOptions,
    work: (lease: Lease) => T | Promise<T>,
  ): Promise<T> {
    if (typeof work !== "function") throw invalidArgument("work", "a function, as the third argument");
    const lease = await this.acquire(keys, options);
    return releasedAfter(lease, () => work(lease));
  }

  /** A lease handed down by its holder: it may verify and commit, not renew or release. */
  async borrow(keys: string | readonly string[], token: string): Promise<BorrowedLease> {
    this.#assertOpen();
    return createBorrowedLease(this.#home.kernel, keys, token);
  }

  /** A detached grant taken up again by its token, to renew, convert or release it. `E_LOCK_NOT_HELD`. */
  async reattach(keys: string | readonly string[], token: string): Promise<DetachedLease> {
    this.#assertOpen();
    return createDetachedLease(this.#home, keys, token);
  }

  /** Takes over from a holder that is gone, in one step. `E_LOCK_CONFLICT` when it is not, `E_NOT_FOUND` when it is free. */
  async steal(keys: string | readonly string[], options: Omit<AcquireOptions, "wait"> = {}): Promise<Lease> {
    checkOptions(options, AT_ONCE);
    return this.#acquire(parseAcquire(keys, { ...options, wait: 0 }, this.#facts), new Set(), true);
  }

  /** Ends what is recoverable on the key and below it. Returns what was ended, perhaps nothing. */
  async recover(key: string): Promise<readonly GrantRecord[]> {
    return this.#end(key, "recovered", null);
  }

  /** Ends a grant that still looks alive. Only `user` and `admin` owners may; `E_FORBIDDEN`, `E_NOT_FOUND`. */
  async break(key: string, options: { readonly reason: string }): Promise<readonly GrantRecord[]> {
    const reason: unknown = options?.reason;
    if (typeof reason !== "string") throw invalidArgument("reason", "a break needs a written reason");
    checkOptions(options, BREAK);
    return this.#end(key, "broken", reason);
  }

  /** Is this number current on the resource? `E_FENCING_MISMATCH`, `E_LOCK_EXPIRED`, `E_LOCK_NOT_HELD`. */
  async verify(key: string, fencingToken: number): Promise<GrantRecord> {
    this.#assertOpen();
    if (!Number.isSafeInteger(fencingToken)) throw invalidArgument("fencingToken", "a whole number");
    return toRecord(await this.#facts.store.fence.verify(parseKey(key), fencingToken));
  }

  /** Who holds it, who waits, without taking any lock. */
  async inspect(key: string): Promise<LockStatus> {
    this.#assertOpen();
    return toStatus(await this.#facts.store.reader.inspect(parseKey(key)), this.#facts.clock());
  }

  /** Who holds it, who stands in line, and who waits for whom, without taking any lock. */
  async explain(key: string): Promise<Explanation> {
    this.#assertOpen();
    return explain(this.#home, parseKey(key));
  }

  /** @internal The same without the circles, which costs less beside many waiters. */
  async explainNear(key: string): Promise<Omit<Explanation, "circles">> {
    this.#assertOpen();
    const { standing: _standing, ...found } = await explainNear(this.#home, parseKey(key));
    return found;
  }

  /** Everybody who stands in line, in the whole store, and the grants they wait for, without taking any lock. */
  async waits(options: WaitsOptions = {}): Promise<Waits> {
    this.#assertOpen();
    checkOptions(options, WAITS);
    const { limit = 1_000 } = options;
    checkLimit(limit);
    return waits(this.#home, limit);
  }

  /** @internal The same without whom they wait for, which costs less. */
  async inLine(limit: number): Promise<readonly WaiterRecord[]> {
    this.#assertOpen();
    return inLine(this.#home, limit);
  }

  /** Waits until the key could be taken, without taking it. Ends what is recoverable. `E_LOCK_CONFLICT`, `E_LOCK_TIMEOUT`. */
  async untilFree(key: string, options: Pick<AcquireOptions, "mode" | "wait" | "signal"> = {}): Promise<void> {
    this.#assertOpen();
    checkOptions(options, UNTIL_FREE);
    const { wants, waitMs, signal } = parseAcquire(key, options, this.#facts);
    for (const want of wants) await this.#holdings.track(untilFree(this.#home, want, waitMs, signal));
  }

  /** What is held, in the order of keys, a page at a time. */
  async list(options: ListOptions = {}): Promise<readonly GrantRecord[]> {
    checkOptions(options, LIST);
    return this.listAs(toRecord, options);
  }

  /** @internal The same, shown as they are now in some other way. */
  async listAs<T>(
    show: (grant: Grant, now: Instant) => T,
    { prefix, limit = 1_000, after }: ListOptions,
  ): Promise<readonly T[]> {
    this.#assertOpen();
    checkLimit(limit);
    const grants = await this.#facts.store.reader.list({
      prefix: prefix === undefined ? null : parseKey(prefix, "prefix"),
      after: after === undefined ? null : { resource: parseKey(after.resource, "after"), lockId: after.lock_id },
      limit,
    });
    const now = this.#facts.clock();
    return grants.map((grant) => show(grant, now));
  }

  /** The status of a key, at once and after every change on it, above it or below it, until the signal aborts. */
  async *watch(key: string, options: { readonly signal?: AbortSignal } = {}): AsyncIterableIterator<LockStatus> {
    checkOptions(options, WATCH);
    const { signal } = options;
    const resource = parseKey(key);
    const changes = this.audit.follow({
      resource: resource.split("/", 1)[0] ?? resource,
      ...(signal === undefined ? {} : { signal }),
    });
    yield await this.inspect(resource);
    for await (const entry of changes)
      if (isWithin(entry.resource, resource) || isWithin(resource, entry.resource)) yield await this.inspect(resource);
  }

  /** Ends what still waits, releases what is still held and lets the store go. Another call ends with the first. */
  async close(): Promise<void> {
    if (!this.#closing.signal.aborted) {
      this.#closing.abort(wasClosed());
      this.#home.looks.ringNow();
      this.#closed = this.#letGo();
    }
    // mutant: close-under-way: await this.#closed; → void this.#closed;
    await this.#closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #letGo(): Promise<void> {
    const isAllGivenBack = await this.#holdings.giveBack();
    await this.#heart?.close();
    this.#holdings.close();
    this.#home.looks.close();
    // What stays is renewed no more: its holder is told when it ends.
    // mutant: closed-endings: if (isAllGivenBack) this.#home.endings.close(); → this.#home.endings.close();
    if (isAllGivenBack) this.#home.endings.close();
    await this.#facts.store.close(!isAllGivenBack);
  }

  #acquire(parsed: ParsedAcquire, family: LeaseFamily, mustSteal: boolean): Promise<Lease> {
    return this.#take(requestWithPayloads(this.#facts.files, parsed), family, mustSteal);
  }

  #take(parsed: ParsedAcquire, family: LeaseFamily, mustSteal: boolean): Promise<Lease> {
    this.#assertOpen();
    const { files } = this.#facts;
    for (const { resource } of parsed.wants) assertOwnFile(files, resource);
    const taking = takeLocks(this.#place, parsed, family, mustSteal);
    // The watch looks while something is held; no process watches a detached grant.
    const isWatched = !parsed.detached && performance.now() - this.#lookedAt < LOOK_EVERY_MS;
    const recorded = isWatched ? taking : this.#stillRecorded(taking);
    const isAroundFiles = files.kind === "workspace" && parsed.wants.some(({ resource }) => isFileKey(resource));
    return this.#holdings.track(isAroundFiles ? this.#besideFolders(files.root, recorded) : recorded);
  }

  /** The grant is given back when a folder around one of its files is locked by its `_LOCK.json`. */
  async #besideFolders(root: string, taking: Promise<Lease>): Promise<Lease> {
    const lease = await taking;
    try {
      for (const { resource } of lease.held) assertFoldersFree(root, resource, this.owner);
      return lease;
    } catch (error) {
      await lease.release().catch(() => undefined);
      throw error;
    }
  }

  /** Gives back at once what was granted in a store from which `holdfast init` has moved the workspace. */
  async #stillRecorded(taking: Promise<Lease>): Promise<Lease> {
    const lease = await taking;
    try {
      // mutant: grant-recorded: this.#assertStore(); →
      this.#assertStore();
    } catch (error) {
      if (!isLostStore(error)) return lease;
      await lease.release().catch(() => undefined);
      throw error;
    }
    return lease;
  }

  #assertStore(): void {
    const { store, files } = this.#facts;
    this.#lookedAt = performance.now();
    store.assertInPlace();
    if (files.kind === "workspace") assertRecorded(files.root, store);
  }

  async #end(key: string, how: "recovered" | "broken", reason: string | null): Promise<readonly GrantRecord[]> {
    this.#assertOpen();
    const resource: Key = parseKey(key);
    const ended = await this.#facts.store.locks.end({ resource, party: this.#identity.party, how, reason });
    for (const grant of ended) tell("ended", () => ({ resource: grant.resource, owner: grant.owner }));
    return ended.map(toRecord);
  }

  #assertOpen(): void {
    if (this.#closing.signal.aborted) throw wasClosed();
  }
}

function checkLimit(limit: number): void {
  if (!Number.isInteger(limit) || limit < 1 || limit > 50_000)
    throw invalidArgument("limit", "a whole number from 1 to 50,000");
}

function wasClosed(): HoldfastError {
  return invalidArgument("holdfast", "it was closed");
}
