/** The lock of a deliverable folder, as its holder uses it: renews it, commits under it, and unlocks. */
import { checkOptions, type OptionNames } from "../../base/check-options.js";
import type { Duration } from "../../base/duration.js";
import { isHoldfastError } from "../../base/errors.js";
import { given } from "../../base/given.js";
import type { DeliverableRecord } from "../../client/deliverable/record.js";
import type { ProofOfLife } from "../../platform/liveness/proof-of-life.js";
import type { RecoveredLock } from "./stale.js";

/** What the lock asks of its folder. */
interface Home {
  renew(options: { readonly token: string; readonly ttl?: Duration }): Promise<DeliverableRecord>;
  commit<T>(write: () => T, options: { readonly token: string }): Promise<T>;
  unlock(options: { readonly token: string; readonly terminate?: boolean }): Promise<void>;
}

export interface TerminateOptions {
  readonly terminate?: boolean;
}

export const TERMINATE: OptionNames<TerminateOptions> = { terminate: true };

export class DeliverableLock {
  /** The secret that proves the lock is one's own. It is shown nowhere else. */
  readonly token: string;
  /** What was taken over from a holder that was gone, or null. */
  readonly recovered: RecoveredLock | null;
  readonly #home: Home;
  readonly #proof: ProofOfLife | null;
  #record: DeliverableRecord;
  #isOver = false;

  /** @internal Use `Deliverable.lock`. */
  constructor(
    home: Home,
    record: DeliverableRecord,
    token: string,
    proof: ProofOfLife | null,
    recovered: RecoveredLock | null,
  ) {
    this.#home = home;
    this.#record = record;
    this.#proof = proof;
    this.token = token;
    this.recovered = recovered;
  }

  get record(): DeliverableRecord {
    return this.#record;
  }

  get fencingToken(): number {
    return this.#record.fencing_token;
  }

  /** Extends the lease from now on. `E_LOCK_EXPIRED`, `E_LOCK_NOT_HELD` */
  async renew(ttl?: Duration): Promise<void> {
    this.#record = await this.#home.renew({ token: this.token, ...given({ ttl }) });
  }

  /** Runs a quick, synchronous `write` only if the lock still stands, before anybody else can take over. */
  async commit<T>(write: () => T): Promise<T> {
    return this.#home.commit(write, { token: this.token });
  }

  /** Frees the folder; a second call does nothing. `E_LOCK_NOT_HELD` when it was taken over meanwhile. */
  async unlock(options: TerminateOptions = {}): Promise<void> {
    checkOptions(options, TERMINATE);
    const { terminate = false } = options;
    if (this.#isOver) return;
    await this.#home.unlock({ token: this.token, terminate });
    this.#isOver = true;
    this.#proof?.close();
  }

  /** Unlocks when a block ends; that somebody has taken over is no error then. */
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.unlock();
    } catch (error) {
      if (!isHoldfastError(error, "E_LOCK_NOT_HELD")) throw error;
    } finally {
      this.#isOver = true;
      this.#proof?.close();
    }
  }
}
