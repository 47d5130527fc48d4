/**
 * A lease that this process holds. It is trusted only as long as the store is bound to respect it: from just before the
 * last successful request was sent, for the lease's duration, less a margin. When that time is over, or a renewal is
 * refused, the lease is lost for good: its signal aborts, before another holder may come in, and it commits nothing any
 * more.
 *
 *   held ⇄ suspect      a renewal's outcome is unknown; trust runs on until it runs out
 *   held, suspect → lost
 *   held, suspect → released
 *
 * A signal that aborts too late does not endanger the data: `commit` checks the grant again in the same step as the write,
 * under the guard that a steal also needs.
 */

import type { Duration } from "../../base/duration.js";
import { type HoldfastError, invalidArgument, isHoldfastError } from "../../base/errors.js";
import { isLostStore } from "../../base/lost-store.js";
import { type Grant, type GrantRecord, toRecord } from "../../lock/grant.js";
import type { Mode } from "../../lock/mode.js";
import type { GrantRef, Presented, Sql } from "../../store/contract.js";
import { tell } from "../events.js";
import type { Kernel } from "../kernel.js";
import { type AcquireOptions, parseLease } from "../options.js";
import { type LeaseFacts, type LeaseFamily, type LeaseHome, presentedBy } from "./lease-context.js";
import { isLoss, notHeld, noting, ranOut } from "./loss.js";
import { runTransaction, type TransactionOptions } from "./transaction.js";
import { Trust } from "./trust.js";
import { type UpgradeOptions, untilUpgraded } from "./upgrade.js";

export type LeaseState = "held" | "suspect" | "lost" | "released";

const DONE = Promise.resolve();
const NOTHING: ReadonlySet<unknown> = new Set();

export class Lease {
  /** The secret that proves these grants are yours. Hand it to a child process to let it borrow the lease. */
  readonly token: string;
  readonly #home: LeaseHome;
  readonly #family: LeaseFamily;
  readonly #within: LeaseFacts["within"];
  readonly #startedAt: number;
  readonly #detached: boolean;
  #grants: readonly Grant[];
  #leaseMs: number;
  #state: LeaseState = "held";
  #trust: Trust;
  #controller: AbortController | null = null;
  #lostBy: HoldfastError | null = null;
  #releasing: Promise<void> = DONE;
  /** The last conversion that was asked for. Never fails. */
  #converting: Promise<void> = DONE;

  /** @internal */
  constructor(home: LeaseHome, { grants, token, since, leaseMs, family, within, detached }: LeaseFacts) {
    this.#home = home;
    this.#family = family;
    this.#within = within;
    this.#grants = grants;
    this.token = token;
    this.#startedAt = since;
    this.#detached = detached;
    this.#leaseMs = leaseMs;
    this.#trust = this.#hold(since, Math.min(...grants.map((grant) => grant.leaseMs)));
  }

  get keys(): readonly string[] {
    return this.#grants.map((grant) => grant.resource);
  }
  get mode(): Mode {
    return this.#first.mode;
  }
  /** The number that guards the data: higher than that of any earlier grant in the tree. The first key's, if several. */
  get fencingToken(): number {
    return this.#first.fencingToken;
  }
  get fencingTokens(): readonly number[] {
    return this.#grants.map((grant) => grant.fencingToken);
  }
  /** The records of the grants, as everybody sees them. */
  get grants(): readonly GrantRecord[] {
    return this.#grants.map(toRecord);
  }
  get state(): LeaseState {
    if (this.#isLive() && this.#trust.leftMs() <= 0) this.#expire();
    return this.#state;
  }
  /** Aborts with the coded error as its reason when the lease is lost. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.state === "lost") this.#controller.abort(this.#lostBy);
    return this.#controller.signal;
  }

  /** Takes more keys, presenting everything this client holds. The new lease is released on its own, before this one. */
  async acquire(keys: string | readonly string[], options: AcquireOptions = {}): Promise<Lease> {
    this.#assertLive();
    return this.#home.acquire(keys, options, this.#family);
  }

  /** Extends the lease, with `ttl` to a new length. `E_LOCK_EXPIRED`, `E_LOCK_NOT_HELD`. */
  async renew(ttl?: Duration): Promise<void> {
    this.#assertLive();
    const leaseMs = ttl === undefined ? this.#leaseMs : parseLease(ttl);
    const isAsItIs = ttl === undefined && this.#trust.leaseMs() === leaseMs;
    this.#trust.renewing(leaseMs);
    const since = this.#home.clock().bootMs;
    this.#grants = await this.#losing(this.#home.store.locks.renew(this.#refs(), isAsItIs ? null : leaseMs));
    this.#leaseMs = leaseMs;
    // mutant: trust-from-sending: (since, leaseMs); → (Math.max(since, this.#home.clock().bootMs), leaseMs);
    this.#trust.renewed(since, leaseMs);
  }

  /** upgradeable → write, with a new fencing token, when no other reader remains. */
  async upgrade(options: UpgradeOptions = {}): Promise<void> {
    return this.#home.holdings.track(this.#inTurn(() => this.#upgrade(options)));
  }

  async #upgrade(options: UpgradeOptions): Promise<void> {
    this.#assertLive();
    const [grant] = this.#refs();
    if (grant === undefined || this.#grants.length > 1)
      throw invalidArgument("keys", "upgrade one key at a time: take each with a lease of its own");
    // mutant: upgrade-in-a-circle: presented = (): Presented[] => presentedBy(this.#family) → held = presentedBy(this.#family); const presented = (): Presented[] => held
    const presented = (): Presented[] => presentedBy(this.#family);
    const { grants } = await this.#losing(untilUpgraded(this.#home, grant, presented, options));
    this.#grants = grants;
  }

  /** write → read; no writer gets in between, and the fencing token stays. */
  async downgrade(): Promise<void> {
    return this.#inTurn(async () => {
      this.#assertLive();
      const { store, party } = this.#home;
      this.#grants = await this.#losing(store.locks.downgrade(this.#refs(), party));
    });
  }

  /** One conversion after the other: else the answer that comes last would be believed, whichever was made last. */
  #inTurn(convert: () => Promise<void>): Promise<void> {
    // mutant: converted-at-once: const turn = this.#converting.then(convert); → const turn = convert();
    const turn = this.#converting.then(convert);
    this.#converting = turn.catch(() => undefined);
    return turn;
  }

  /** Asks the store whether this lease is still the current one. `E_FENCING_MISMATCH`, `E_LOCK_EXPIRED`, `E_LOCK_NOT_HELD`. */
  async verify(): Promise<void> {
    this.#assertLive();
    const asked = this.#grants;
    try {
      await this.ask();
    } catch (error) {
      // It may have been converted meanwhile, and have another number.
      if (isHoldfastError(error, "E_FENCING_MISMATCH")) await this.#converting;
      // mutant: verified-once: === this.#grants) return this.#losing → !== null) return this.#losing
      if (asked === this.#grants) return this.#losing(Promise.reject(error));
      await this.verify();
    }
  }

  /** @internal The same question without a word of what this object believes. */
  async ask(): Promise<void> {
    for (const grant of this.#grants) await this.#home.store.fence.verify(grant.resource, grant.fencingToken);
  }

  /**
   * Runs `write` in the same step that checks lease and fence, before anybody else can take over. `write` is synchronous
   * and quick: a file written, a row appended. Needs write mode. When it throws, so does `commit`.
   */
  async commit<T>(write: () => T): Promise<T> {
    this.#assertLive();
    this.#assertWriter();
    const thrown = new Set<unknown>();
    return this.#losing(this.#home.store.fence.commit(this.#refs(), noting(write, thrown)), thrown);
  }

  /**
   * Runs `body` in one database transaction with that same check: the caller's own rows, in the store's database, are
   * written and durable before anybody else can take over, or not at all. Stores that are a database; `E_CONFIG` elsewhere.
   */
  async transaction<T>(body: (sql: Sql) => T | Promise<T>, options: TransactionOptions = {}): Promise<T> {
    this.#assertLive();
    this.#assertWriter();
    const thrown = new Set<unknown>();
    return this.#losing(runTransaction(this.#home.store, this.#refs(), noting(body, thrown), options), thrown);
  }

  /** @internal What features build on: see `kernelOf`. */
  get kernel(): Kernel {
    return this.#home.kernel;
  }

  /** @internal The grants, as a step of a feature names them to the kernel. */
  get refs(): readonly GrantRef[] {
    return this.#refs();
  }

  /** @internal The grants with what their records do not show. */
  get held(): readonly Grant[] {
    return this.#grants;
  }

  /** @internal A step of a feature, a writing one unless it says so; a refusal that means loss is taken for what it is. */
  async through<T>(step: () => Promise<T>, mode: "read" | "write" = "write"): Promise<T> {
    this.#assertLive();
    if (mode === "write") this.#assertWriter();
    return this.#losing(step());
  }

  /** After expiry, if nobody has ended the grant: a new lease with a new fencing token. This one stays lost. */
  async resume(): Promise<Lease> {
    return this.#home.holdings.track(this.#resume());
  }

  async #resume(): Promise<Lease> {
    if (this.state !== "lost") throw invalidArgument("lease", "only a lease that ran out is resumed");
    const { token, hash } = this.#home.newToken();
    const since = this.#home.clock().bootMs;
    const grants = await this.#home.store.locks.resume(this.#refs(), hash, this.#home.party);
    this.#home.holdings.settle(this.#first.lockId);
    const leaseMs = this.#leaseMs;
    const [family, within, detached] = [this.#family, this.#within, this.#detached];
    return new Lease(this.#home, { grants, token, since, leaseMs, family, within, detached });
  }

  /**
   * Gives the lock back. A call while that is under way ends with it, and one after it does nothing. `E_LOCK_NOT_HELD` when
   * somebody else ended it first.
   */
  release(): Promise<void> {
    if (this.#state !== "released") {
      this.#releasing = this.#giveBack();
      // mutant: release-before-close: this.#home.holdings.begin(this.#releasing); →
      this.#home.holdings.begin(this.#releasing);
    }
    // mutant: release-under-way: this.#releasing; → this.#state === "released" ? DONE : this.#releasing;
    return this.#releasing;
  }

  async #giveBack(): Promise<void> {
    const wasLost = this.state === "lost";
    this.#letGo();
    this.#state = "released";
    const { store, party, clock } = this.#home;
    const refusal = await store.locks.release(this.#refs(), party).then(
      () => null,
      (error: unknown) => ({ error }),
    );
    // First of all: whoever hears below that it is lost may ask for its release again.
    this.#home.holdings.end(this.#releasing);
    this.#releasing = DONE;
    if (refusal !== null) this.#notGivenBack(refusal.error, wasLost);
    this.#home.holdings.settle(this.#first.lockId);
    tell("released", () => ({
      resources: this.keys,
      mode: this.mode,
      owner: party.owner,
      heldMs: clock().bootMs - this.#startedAt,
    }));
  }

  /** Throws the refusal, unless all it says is that a lost lease is gone. */
  #notGivenBack(error: unknown, wasLost: boolean): void {
    const isGone = isLoss(error);
    if (wasLost && !isGone) this.#state = "lost";
    else if (isHoldfastError(error, "E_LOCK_ORDER")) this.#takeBack();
    else if (!isGone) this.#keepForRelease(error);
    if (!wasLost || !isGone) throw error;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  /** @internal With its workplace: a detached grant stays, any other is released. */
  async close(): Promise<void> {
    if (this.#detached) this.#letGo();
    else await this.release().catch(() => undefined);
  }

  /** @internal The store is not in its place any more. */
  onStoreLost(error: HoldfastError): void {
    this.#lose(error);
  }

  /** @internal What this lease shows of itself with a request of its family. */
  get presented(): readonly Presented[] {
    return [...this.#refs(), ...presentedBy(this.#within)];
  }

  get #first(): Grant {
    const [grant] = this.#grants;
    if (grant === undefined) throw new RangeError("a lease has at least one grant");
    return grant;
  }

  #refs(): GrantRef[] {
    return this.#grants.map(({ resource, lockId, tokenHash }) => ({ resource, lockId, tokenHash }));
  }

  #hold(since: number, leaseMs: number): Trust {
    this.#family.add(this);
    this.#home.holdings.hold(this);
    const pulse = {
      grants: this.#refs(),
      leaseMs,
      renewToMs: this.#leaseMs,
      since,
      onLost: (error: HoldfastError) => this.#lose(error),
      onSuspect: (isSuspect: boolean) => this.#suspect(isSuspect),
    };
    const { clock, endings } = this.#home;
    // mutant: heart-of-the-first: this.#detached ? null : this.#home.heart → this.#home.heart
    const heart = this.#detached ? null : this.#home.heart;
    return new Trust({ clock, heart, endings }, pulse, () => this.#expire());
  }

  #suspect(isSuspect: boolean): void {
    if (this.#isLive()) this.#state = isSuspect ? "suspect" : "held";
  }

  #expire(): void {
    this.#lose(ranOut(this.keys, this.fencingToken));
  }

  #lose(error: HoldfastError): void {
    if (!this.#isLive()) return;
    this.#letGo();
    this.#drift(error);
  }

  #letGo(): void {
    this.#trust.stop();
    this.#family.delete(this);
    this.#home.holdings.letGo(this);
  }

  /** The store could not do it: the lease is renewed no more, and may be released again. */
  #keepForRelease(error: unknown): void {
    this.#drift(notHeld(`${this.keys.join(", ")} was being released`, {}, error));
  }

  /**
   * It is renewed no more, and some of it may be in the store, unless that is lost. What is detached outlives this process
   * anyway.
   */
  #drift(error: HoldfastError): void {
    this.#state = "lost";
    this.#lostBy = error;
    // mutant: close-unproven: if (!this.#detached && !isLostStore(error)) this.#home.holdings.drift(this.#first.lockId); →
    if (!this.#detached && !isLostStore(error)) this.#home.holdings.drift(this.#first.lockId);
    this.#controller?.abort(error);
    tell("lost", () => ({ resources: this.keys, owner: this.#home.party.owner, code: error.code }));
  }

  #takeBack(): void {
    this.#state = "held";
    this.#trust = this.#hold(this.#trust.since(), this.#trust.leaseMs());
  }

  #isLive(): boolean {
    return this.#state === "held" || this.#state === "suspect";
  }

  #assertLive(): void {
    const { state } = this;
    if (state === "lost" && this.#lostBy !== null) throw this.#lostBy;
    if (state === "released") throw notHeld(`the lease on ${this.keys.join(", ")} was released`);
  }

  #assertWriter(): void {
    const { mode, permits, resource } = this.#first;
    if (mode !== "write" || permits !== null)
      throw notHeld(
        `a ${permits === null ? mode : "permit"} on ${resource} commits nothing: writing needs a write lock`,
      );
  }

  /** Passes an answer of the store through, and takes a refusal that means loss for what it is, unless the caller threw it. */
  async #losing<T>(answer: Promise<T>, thrown: ReadonlySet<unknown> = NOTHING): Promise<T> {
    this.#home.holdings.move();
    try {
      return await answer;
    } catch (error) {
      if (isLoss(error) && !thrown.has(error)) this.#lose(error);
      throw error;
    }
  }
}
