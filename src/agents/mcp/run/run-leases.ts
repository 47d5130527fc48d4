/**
 * Keeps the locks and claims of one agent's run, each a detached grant bound to this server's process.
 *
 * There is no heartbeat. A lease is renewed only by the agent's own calls, so an agent that forgot its locks, or that
 * hangs, loses them when their time is up. All of them end with this process, however it ends.
 */

import { HoldfastError } from "../../../base/errors.js";
import type { Holdfast } from "../../../client/holdfast.js";
import { kernelOf } from "../../../client/kernel.js";
import type { BorrowedLease } from "../../../client/lease/borrowed-lease.js";
import type { DetachedLease } from "../../../client/lease/detached-lease.js";
import type { Lease } from "../../../client/lease/lease.js";
import { isLoss } from "../../../client/lease/loss.js";
import type { LastingRecord } from "../../../client/reading/lock-status.js";
import { hashLeaseToken } from "../../../lock/lease-token.js";

/** What was taken together, under one token. */
interface Holding {
  readonly token: string;
  /** The issue, when this is a claim. */
  readonly issue: string | null;
  lease: DetachedLease;
  renewedAtMs: number;
}

/** Something that was held and is not any more, to be told once. */
export interface Loss {
  readonly key: string;
  readonly code: string;
}

/** What was renewed so short a time ago is not renewed again: calls come in bursts. */
const FRESH_MS = 1_000;

export class Holdings {
  readonly #holdfastNow: () => Holdfast;
  /** In the order taken: given back in the reverse. */
  #all: Holding[] = [];
  #lost: Loss[] = [];
  /** Claims that ended by other hands and were not claimed again since. */
  readonly #lostIssues = new Set<string>();

  /** The run may change the name that it acts under. */
  constructor(holdfastNow: () => Holdfast) {
    this.#holdfastNow = holdfastNow;
  }

  get #holdfast(): Holdfast {
    return this.#holdfastNow();
  }

  /** Locks and claims. */
  get grants(): readonly LastingRecord[] {
    return this.#all.flatMap(({ lease }) => lease.lasting);
  }

  /** The locks alone. */
  get locks(): readonly LastingRecord[] {
    return this.#all.flatMap(({ issue, lease }) => (issue === null ? lease.lasting : []));
  }

  get issues(): readonly string[] {
    return this.#all.flatMap(({ issue }) => issue ?? []);
  }

  /** Nothing is held, or all of it has run out. By the time since boot: a clock that is set ends no lease. */
  get hasLapsed(): boolean {
    const nowMs = this.#nowMs();
    return this.#all.every(({ lease, renewedAtMs }) =>
      lease.grants.every(({ lease_duration_s }) => nowMs - renewedAtMs > lease_duration_s * 1_000),
    );
  }

  /** Takes charge of a lease that was just acquired, unless nobody waits for it any more. */
  async add(lease: Lease, signal: AbortSignal): Promise<readonly LastingRecord[]> {
    try {
      signal.throwIfAborted();
      return await this.#adopt(lease.keys, lease.token, null);
    } catch (error) {
      await lease.release().catch(() => undefined);
      throw error;
    } finally {
      await lease.close();
    }
  }

  async addClaim(issue: string, key: string, token: string): Promise<void> {
    this.#lostIssues.delete(issue);
    await this.#adopt([key], token, issue);
  }

  /** Whoever lost a claim is refused once, so that it learns of it. `E_LOCK_NOT_HELD`. */
  claimToken(issue: string): string | undefined {
    if (this.#lostIssues.delete(issue))
      throw new HoldfastError("E_LOCK_NOT_HELD", `your claim on issue ${issue} is over: it ran out or was ended`, {
        details: { issue },
        next: [`Look at it with issue_show, and claim it again with issue_claim before you change it.`],
      });
    return this.#all.find((each) => each.issue === issue)?.token;
  }

  /** The board has released it. */
  forgetClaim(issue: string): void {
    this.#all = this.#all.filter((each) => each.issue !== issue);
  }

  /** The hashes of the tokens of what it holds. */
  get tokenHashes(): readonly string[] {
    return this.#all.map(({ token }) => hashLeaseToken(token));
  }

  /** What a request presents, so that what is held already nests and nobody waits in the wrong order. */
  async presented(): Promise<readonly BorrowedLease[]> {
    const asked = this.#all.map(({ lease, token }) => this.#holdfast.borrow(lease.keys, token));
    return (await Promise.allSettled(asked)).flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  }

  /** The agent did something: what it holds is renewed. */
  async renewDue(): Promise<void> {
    const due = this.#all.filter((each) => this.#nowMs() - each.renewedAtMs > FRESH_MS);
    await Promise.all(due.map((each) => this.#renew(each, undefined)));
  }

  async renewAll(ttlMs: number | undefined): Promise<void> {
    await Promise.all(this.#all.map((each) => this.#renew(each, ttlMs)));
  }

  /** One lock of its own, to convert it. `E_LOCK_NOT_HELD`. */
  async lock(key: string): Promise<DetachedLease> {
    const holding = this.#holdingOf(key);
    return this.#holdfast.reattach(key, holding.token);
  }

  /** After a conversion: the records as they are now. */
  async reread(key: string): Promise<void> {
    const holding = this.#holdingOf(key);
    try {
      holding.lease = await this.#holdfast.reattach(holding.lease.keys, holding.token);
    } catch (error) {
      if (!isLoss(error)) throw error;
      await this.#keepTheLiving(holding, undefined); // Another key that was taken with it is lost.
    }
  }

  /** Gives locks back, all of them without keys. `E_LOCK_NOT_HELD` before anything is released when one is not held. */
  async release(keys: readonly string[] | null): Promise<readonly string[]> {
    const wanted = new Set(keys ?? this.locks.map((grant) => grant.resource));
    for (const key of wanted) this.#holdingOf(key);
    const released: string[] = [];
    for (const holding of [...this.#all].reverse()) {
      const own = holding.issue === null ? holding.lease.keys.filter((key) => wanted.has(key)) : [];
      if (own.length > 0) released.push(...(await this.#releaseFrom(holding, own)));
    }
    return released;
  }

  takeLosses(): readonly Loss[] {
    return this.#lost.splice(0);
  }

  async #adopt(keys: readonly string[], token: string, issue: string | null): Promise<readonly LastingRecord[]> {
    const lease = await this.#holdfast.reattach(keys, token);
    this.#all.push({ token, issue, lease, renewedAtMs: this.#nowMs() });
    return lease.lasting;
  }

  #holdingOf(key: string): Holding {
    const found = this.#all.find(({ issue, lease }) => issue === null && lease.keys.includes(key));
    if (found !== undefined) return found;
    const claim = this.#all.find(({ lease }) => lease.keys.includes(key))?.issue;
    throw new HoldfastError("E_LOCK_NOT_HELD", `you do not hold ${key}`, {
      details: { resource: key },
      next:
        claim === undefined || claim === null
          ? [`lock_renew lists what you hold; lock_status tells who holds ${key}.`]
          : [`It is a claim: give it back with issue_update, id ${claim}, state ready.`],
    });
  }

  async #renew(holding: Holding, ttlMs: number | undefined): Promise<void> {
    const sentAtMs = this.#nowMs();
    try {
      await holding.lease.renew(ttlMs);
      holding.renewedAtMs = sentAtMs;
    } catch (error) {
      if (!isLoss(error)) return; // The store is away; what the call does will say so.
      await this.#keepTheLiving(holding, ttlMs);
    }
  }

  /** Renewing is all or nothing, and one of the keys is lost: the others are still held. */
  async #keepTheLiving(holding: Holding, ttlMs: number | undefined): Promise<void> {
    const living: string[] = [];
    for (const key of holding.lease.keys) {
      try {
        await (await this.#holdfast.reattach(key, holding.token)).renew(ttlMs);
        living.push(key);
      } catch (error) {
        if (isLoss(error)) this.#lose(holding, key, error.code);
        else living.push(key);
      }
    }
    await this.#keep(holding, living);
  }

  #lose({ issue }: Holding, key: string, code: string): void {
    this.#lost.push({ key, code });
    if (issue !== null) this.#lostIssues.add(issue);
  }

  async #releaseFrom(holding: Holding, keys: readonly string[]): Promise<readonly string[]> {
    const rest = holding.lease.keys.filter((key) => !keys.includes(key));
    try {
      const part = rest.length === 0 ? holding.lease : await this.#holdfast.reattach(keys, holding.token);
      await part.release();
      // With a worktree its payload went.
      await this.#keep(
        holding,
        rest.filter((key) => !part.keys.includes(key)),
      );
      return keys;
    } catch (error) {
      if (!isLoss(error)) throw error;
      if (keys.length === 1) {
        for (const key of keys) this.#lose(holding, key, error.code);
        await this.#keep(holding, rest);
        return [];
      }
      const released: string[] = [];
      for (const key of keys) released.push(...(await this.#releaseFrom(holding, [key])));
      return released;
    }
  }

  async #keep(holding: Holding, keys: readonly string[]): Promise<void> {
    if (keys.length > 0) holding.lease = await this.#holdfast.reattach(keys, holding.token);
    else this.#all = this.#all.filter((each) => each !== holding);
  }

  #nowMs(): number {
    return kernelOf(this.#holdfast).clock().bootMs;
  }
}
