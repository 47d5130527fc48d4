/**
 * The lock of a deliverable folder: lock, renew, unlock, recover, status. Each call but status is one step under the
 * folder's guard; guarded-folder.ts has the protocol. In a workspace the lock is also in its store; store-lock.ts has the
 * order of the two.
 *
 * A lock is bound to a process, this one or another by its pid, or to none (`detached`): then only its lease counts. It
 * is recoverable when its lease has expired or its process is proven dead. `lock` takes such a lock over by itself;
 * `recover` ends it. Both leave the same line in the log.
 */
import { hostname } from "node:os";
import { checkOptions, type OptionNames } from "../../base/check-options.js";
import { type Duration, parseDuration } from "../../base/duration.js";
import { HoldfastError, invalidArgument } from "../../base/errors.js";
import { userName } from "../../base/user-name.js";
import { readContent } from "../../client/deliverable/content.js";
import { mayRecover, provenAlive, removeOldProofs } from "../../client/deliverable/liveness.js";
import { identityOf, type Places, placesIn } from "../../client/deliverable/paths.js";
import {
  type DeliverableRecord,
  type FoundLock,
  publicPart,
  recordHashOf,
  type StoredRecord,
} from "../../client/deliverable/record.js";
import { corrupt, inTheWay } from "../../client/deliverable/refusals.js";
import { parseOwner } from "../../client/options.js";
import { newLeaseToken } from "../../lock/lease-token.js";
import { isExpired } from "../../lock/profile.js";
import { isoTime } from "../../lock/time.js";
import { type Clock, createSystemClock } from "../../platform/clock.js";
import { assertLocalFileSystem } from "../../platform/file-system.js";
import { newNonce, openProofOfLife, type ProofOfLife } from "../../platform/liveness/proof-of-life.js";
import { holderIdOf } from "../../platform/machine.js";
import { DeliverableLock, TERMINATE, type TerminateOptions } from "./deliverable-lock.js";
import { inRoom, type Room } from "./guarded-folder.js";
import type { LogLine } from "./log.js";
import { boundTo, newRecord } from "./new-record.js";
import { heldByNobody, lapsed, notHeld, notTold, storeNotWritable } from "./refusals.js";
import { removeOwnFiles } from "./remove-own-files.js";
import { previousOf, type RecoveredLock, type Stale, staleBecause, toldOf } from "./stale.js";
import { type DeliverableStatus, statusOf } from "./status.js";
import { type OpenStore, type StoreLease, StoreLock } from "./store-lock.js";
import { keepToken, keptToken, removeTokens } from "./token-file.js";

export interface DeliverableOptions {
  /** Who acts: `agent:…`, `job:…`, `service:…`, `user:…` or `admin:…`. Default `user:NAME@HOST`. */
  readonly holder?: string;
  /** Default: the name of the folder. */
  readonly deliverableId?: string;
}

export interface LockOptions {
  /** How long the lease lasts without renewal: 1 min to 24 h, default 30 min. */
  readonly ttl?: Duration;
  /** Binds the lock to the life of this process instead of the calling one. */
  readonly pid?: number;
  /** Binds it to no process: only its lease counts. */
  readonly detached?: boolean;
}

export interface HoldOptions {
  /** Proves that the lock is one's own. Default: the one kept in the folder for this user. */
  readonly token?: string;
}

interface RenewOptions extends HoldOptions {
  readonly ttl?: Duration;
}

interface UnlockOptions extends HoldOptions, TerminateOptions {}

const OPEN: OptionNames<DeliverableOptions> = { holder: true, deliverableId: true };
const LOCK: OptionNames<LockOptions> = { ttl: true, pid: true, detached: true };
const HOLD: OptionNames<HoldOptions> = { token: true };
const RENEW: OptionNames<RenewOptions> = { ...HOLD, ttl: true };
const UNLOCK: OptionNames<UnlockOptions> = { ...HOLD, ...TERMINATE };
const LEASE_LIMITS = { atLeastMs: 60_000, atMostMs: 24 * 3_600_000 };
const DEFAULT_LEASE_MS = 30 * 60_000;

export class Deliverable {
  readonly folder: string;
  readonly holder: string;
  readonly deliverableId: string;
  readonly #places: Places;
  readonly #clock: Clock;
  readonly #openStore: OpenStore;

  /** @internal Use `openDeliverable`. */
  constructor(
    folder: string,
    { holder, deliverableId }: DeliverableOptions,
    clock: Clock,
    openStore: OpenStore = async () => null,
  ) {
    if (typeof folder !== "string" || folder === "") throw invalidArgument("folder", "the path of a folder");
    this.#places = placesIn(folder);
    this.#clock = clock;
    this.#openStore = openStore;
    this.folder = this.#places.folder;
    this.holder = parseOwner(holder ?? `user:${userName()}@${hostname()}`);
    this.deliverableId = deliverableId ?? this.#places.name;
    if (typeof this.deliverableId !== "string" || this.deliverableId === "" || this.deliverableId.length > 200)
      throw invalidArgument("deliverableId", "a name of at most 200 characters");
  }

  /** Locks the folder, or says who has it: `E_LOCK_CONFLICT`. `E_STORE_CORRUPT` when `_LOCK.json` is not readable. */
  async lock(options: LockOptions = {}): Promise<DeliverableLock> {
    checkOptions(options, LOCK);
    const { ttl, pid, detached = false } = options;
    const leaseMs = parseDuration(ttl ?? DEFAULT_LEASE_MS, "ttl", LEASE_LIMITS);
    const bound = boundTo(pid, detached);
    identityOf(this.#places);
    assertLocalFileSystem(this.folder);
    return this.#inRoom(async (room, store) => {
      const old = this.#toTakeOver(room);
      removeOldProofs(this.#places, old?.lock.record.nonce ?? null);
      const nonce = newNonce();
      const { deliverableId, holder } = this;
      const pid = bound === null ? process.pid : bound.pid;
      const inStore = (await store?.acquire({ deliverableId, leaseMs, pid })) ?? null;
      const { token, resources } = inStore ?? { token: newLeaseToken(), resources: [] };
      let proof: ProofOfLife | null = null;
      try {
        proof = bound === null ? this.#prove(nonce) : null;
        const record = newRecord(room, { deliverableId, holder, token, resources, nonce, leaseMs, bound, proof });
        if (bound !== null) keepToken(this.#places, record.lock_id, token);
        const locked = this.#line(room, "locked", record.fencing_token, record.lock_id);
        room.change(record, old === null ? [locked] : [this.#recovered(room, old, record.fencing_token), locked]);
        removeTokens(this.#places, record.lock_id);
        removeOldProofs(this.#places, nonce);
        const recovered = old === null ? null : toldOf(old, record.fencing_token);
        return new DeliverableLock(this, publicPart(record), token, proof, recovered);
      } catch (error) {
        proof?.close();
        if (inStore !== null) await store?.release(inStore).catch(() => undefined);
        throw error;
      }
    });
  }

  /** Extends the lease from now on. `E_LOCK_EXPIRED` when it has lapsed, `E_LOCK_NOT_HELD` when it is not the caller's. */
  async renew(options: RenewOptions = {}): Promise<DeliverableRecord> {
    checkOptions(options, RENEW);
    const { token, ttl } = options;
    const leaseMs = ttl === undefined ? null : parseDuration(ttl, "ttl", LEASE_LIMITS);
    return this.#inRoom(async (room, store) => {
      const { record, grant, inStore } = this.#live(room, token);
      if (inStore.resources.length > 0) await this.#required(store).renew(inStore, leaseMs);
      const renewed: StoredRecord = {
        ...record,
        lease_duration_s: leaseMs === null ? record.lease_duration_s : Math.ceil(leaseMs / 1000),
        last_renewed_at: isoTime(room.now.wallMs),
        store: {
          token_hash: grant.tokenHash,
          holder_id: grant.holderId,
          proof: grant.proof,
          machine_id: room.now.machineId,
          renewed_boot_ms: room.now.bootMs,
          folder: room.folder,
          resources: inStore.resources,
        },
        boot_id: room.now.bootId,
      };
      room.renew(renewed);
      return publicPart(renewed);
    });
  }

  /**
   * Runs `write` under the guard after the check that the lock is the caller's and has not lapsed: nobody takes over in
   * between. For quick, synchronous writes; others wait meanwhile. `E_LOCK_NOT_HELD`, `E_LOCK_EXPIRED`
   */
  async commit<T>(write: () => T, options: HoldOptions = {}): Promise<T> {
    checkOptions(options, HOLD);
    return this.#inRoom((room, store) => {
      const { inStore } = this.#live(room, options.token);
      const checked = (): T => {
        const result = write();
        if (typeof (result as { then?: unknown } | null | undefined)?.then === "function")
          throw invalidArgument("write", "a synchronous function is needed here, and this one returns a promise");
        return result;
      };
      // mutant: deliverable-commit-store: inStore.resources.length > 0 ? this.#required(store).commit(inStore, checked) : checked(); → checked();
      return inStore.resources.length > 0 ? this.#required(store).commit(inStore, checked) : checked();
    });
  }

  /**
   * Frees the folder. `E_LOCK_NOT_HELD` when the lock is not the caller's. With `terminate`, for a folder that is to be
   * deleted or archived: what Holdfast keeps in it goes too, but for the log.
   */
  async unlock(options: UnlockOptions = {}): Promise<void> {
    checkOptions(options, UNLOCK);
    const { token, terminate = false } = options;
    if (!terminate) identityOf(this.#places);
    await this.#inRoom(async (room, store) => {
      const isFree = room.content().kind === "free";
      if (isFree && !terminate) throw heldByNobody(this.folder);
      const own = isFree ? null : this.#own(room, token);
      const held = own?.record ?? null;
      // mutant: deliverable-unlock-store: if (own !== null) await store?.release(own.inStore); →
      if (own !== null) await store?.release(own.inStore);
      const fence = terminate ? room.mint() : (held?.fencing_token ?? 0);
      const line = this.#line(room, terminate ? "terminated" : "unlocked", fence, held?.lock_id ?? null);
      const isTold = room.change(null, [held === null ? line : { ...line, ...previousOf(held) }]);
      removeTokens(this.#places, null);
      if (!terminate) return;
      if (isTold) removeOwnFiles(this.#places);
      else throw notTold(this.#places);
    });
  }

  /**
   * Ends a lock whose holder is gone, one that came with a copy of the folder, or one that cannot be read. Null when the
   * folder is free. `E_LOCK_CONFLICT` when its holder is not gone.
   */
  async recover(): Promise<RecoveredLock | null> {
    return this.#inRoom(async (room, store) => {
      const content = room.content();
      if (content.kind === "free") return null;
      const old = content.kind === "corrupt" ? this.#unreadable(content.why) : this.#stale(room, content.lock);
      await store?.recover(old.lock?.resources ?? []);
      const fence = room.mint();
      room.change(null, [this.#recovered(room, old, fence)]);
      removeTokens(this.#places, null);
      removeOldProofs(this.#places, null);
      return toldOf(old, fence);
    });
  }

  /** Who holds the folder, without taking the guard and without writing anything. */
  async status(): Promise<DeliverableStatus> {
    const folder = identityOf(this.#places);
    return statusOf(this.#places, this.deliverableId, readContent(this.#places, folder), this.#clock());
  }

  /** Under the guard, with the store of the workspace around; null outside of one. */
  async #inRoom<T>(body: (room: Room, store: StoreLock | null) => T | Promise<T>): Promise<T> {
    identityOf(this.#places); // Where there is no folder none is looked around.
    const around = await this.#openStore(this.folder, this.holder).catch((error: unknown) => {
      throw storeNotWritable(error, this.folder) ?? error;
    });
    const store = around === null ? null : new StoreLock(this.folder, around);
    try {
      return await inRoom(this.#places, this.#clock, (room) => body(room, store));
    } finally {
      await store?.close();
    }
  }

  #required(store: StoreLock | null): StoreLock {
    if (store !== null) return store;
    throw notHeld(this.folder, "the workspace that it was locked in is not around it any more");
  }

  #prove(nonce: string): ProofOfLife {
    return openProofOfLife(this.#places.alive, nonce, { holder: this.holder, holder_id: holderIdOf() });
  }

  /** The recoverable lock in the way, or null when the folder is free. `E_LOCK_CONFLICT`, `E_STORE_CORRUPT` */
  #toTakeOver(room: Room): (Stale & { readonly lock: FoundLock }) | null {
    const content = room.content();
    if (content.kind === "free") return null;
    if (content.kind === "corrupt") throw corrupt(this.#places, content.why);
    const recovery = mayRecover(this.#places, content.lock, room.now);
    if (recovery === null) throw inTheWay(this.#places, content.lock, room.now, this.#isKeptFor(content.lock));
    return staleBecause(content.lock, recovery);
  }

  #stale(room: Room, lock: FoundLock): Stale {
    const recovery = mayRecover(this.#places, lock, room.now);
    if (recovery !== null) return staleBecause(lock, recovery);
    if (lock.isCopy) return { reason: "corrupt", lock, evidence: { copied: true } };
    throw inTheWay(this.#places, lock, room.now);
  }

  /** Whoever still proves to be alive here may be the one whose lock it is. `E_LOCK_CONFLICT` */
  #unreadable(why: string): Stale {
    const [alive] = provenAlive(this.#places);
    if (alive === undefined) return { reason: "corrupt", lock: null, evidence: { why } };
    throw new HoldfastError(
      "E_LOCK_CONFLICT",
      `${this.#places.lock} is not readable (${why}), but a process that has locked this folder still lives: ${alive}`,
      { details: { path: this.#places.lock, holder_id: alive }, next: ["Let it end, or end it, then recover again."] },
    );
  }

  #isKeptFor({ record }: FoundLock): boolean {
    return record.holder === this.holder && keptToken(this.#places, record.lock_id) !== null;
  }

  #own(room: Room, token: string | undefined): OwnLock {
    const content = room.content();
    if (content.kind === "free") throw heldByNobody(this.folder);
    if (content.kind === "corrupt") throw corrupt(this.#places, content.why);
    const { record, grant } = content.lock;
    const shown = token ?? (record.holder === this.holder ? keptToken(this.#places, record.lock_id) : null);
    if (shown !== null && grant.tokenHash === recordHashOf(shown))
      return { ...content.lock, inStore: { token: shown, resources: content.lock.resources } };
    throw notHeld(this.folder, `${record.holder} holds it (${grant.holderId})`);
  }

  /** Its own lock, of this folder and not lapsed. */
  #live(room: Room, token: string | undefined): OwnLock {
    const lock = this.#own(room, token);
    if (lock.isCopy) throw notHeld(this.folder, "its lock came with the folder it was copied from");
    if (isExpired(lock.grant, room.now)) throw lapsed(this.folder);
    return lock;
  }

  #line(room: Room, action: LogLine["action"], fence: number, lockId: string | null): LogLine {
    return {
      timestamp: isoTime(room.now.wallMs),
      agent: this.holder,
      deliverable_id: this.deliverableId,
      action,
      recovery_reason: null,
      previous_holder: null,
      previous_acquired: null,
      fencing_token: fence,
      previous_fencing_token: null,
      lock_id: lockId,
      evidence: null,
    };
  }

  #recovered(room: Room, { reason, lock, evidence }: Stale, fence: number): LogLine {
    return {
      ...this.#line(room, "recovered", fence, lock?.record.lock_id ?? null),
      recovery_reason: reason,
      ...(lock === null ? {} : previousOf(lock.record)),
      evidence,
    };
  }
}

/** Its own lock, with what is held of it in the store. */
interface OwnLock extends FoundLock {
  readonly inStore: StoreLease;
}

/** As `openDeliverable`, with the function that opens the workspace around a folder. */
export function openDeliverableWith(folder: string, options: DeliverableOptions, openStore: OpenStore): Deliverable {
  checkOptions(options, OPEN);
  return new Deliverable(folder, options, createSystemClock(), openStore);
}
