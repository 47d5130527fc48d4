/**
 * Joins settlements of one worker that arrive together in one step, and so in one sync of the disk. A turn that the
 * worker is about to take is part of that step. When such a step fails, each settlement is made by itself and without
 * the turn, so that none suffers for another. A settlement that writes rows of the caller's own goes alone: its
 * statements must not be repeated because of another one.
 */

import { isHoldfastError } from "../../base/errors.js";
import type { Party, Scripts } from "../../client/kernel.js";
import { round } from "./scripts/round.js";
import { type Settlement, settle, settleAll } from "./scripts/settle.js";
import type { Turn, TurnOf } from "./scripts/turn.js";

/** A turn that is taken in the same step as settlements. It is told what it brought, or null when nothing came of it. */
export interface Ride {
  readonly turn: TurnOf;
  over(taken: Turn | null): void;
}

export interface Rides {
  /** Asked before each step that settles so many runs: null when there is no turn to take. */
  next(settling: number): Ride | null;
  /** Runs were settled without a turn: there is room for others. */
  missed(): void;
}

const NO_RIDES: Rides = { next: () => null, missed: () => undefined };

interface Waiting {
  readonly settlement: Settlement;
  resolve(isSettled: boolean): void;
  reject(error: unknown): void;
}

interface Stepped {
  readonly settled: readonly boolean[];
  readonly taken: Turn | null;
}

const MOST_AT_ONCE = 100;
/** Each by itself would fare no better. */
const HOPELESS = ["E_STORE_UNAVAILABLE", "E_COMMIT_UNCERTAIN"] as const;

export class Settler {
  readonly #scripts: Scripts;
  readonly #party: Party;
  readonly #rides: Rides;
  readonly #waiting: Waiting[] = [];
  #isBusy = false;

  constructor(scripts: Scripts, party: Party, rides: Rides = NO_RIDES) {
    this.#scripts = scripts;
    this.#party = party;
    this.#rides = rides;
  }

  /** As the step `settle`, durably. */
  settle(settlement: Settlement): Promise<boolean> {
    if (settlement.body !== undefined) return this.#alone(settlement);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ settlement, resolve, reject });
      if (!this.#isBusy) void this.#settleAll();
    });
  }

  async #settleAll(): Promise<void> {
    this.#isBusy = true;
    while (this.#waiting.length > 0) {
      // Whoever ends in this same moment comes along.
      await new Promise(setImmediate);
      await this.#together(this.#waiting.splice(0, MOST_AT_ONCE));
    }
    this.#isBusy = false;
  }

  async #together(batch: readonly Waiting[]): Promise<void> {
    const ride = this.#rides.next(batch.length);
    try {
      const { settled, taken } = await this.#step(batch, ride);
      for (const [at, { resolve }] of batch.entries()) resolve(settled[at] === true);
      if (taken === null) this.#rides.missed();
      ride?.over(taken);
    } catch (error) {
      ride?.over(null);
      const isAlone = batch.length === 1 && ride === null;
      const isHopeless = isAlone || HOPELESS.some((code) => isHoldfastError(error, code));
      for (const { settlement, resolve, reject } of batch)
        if (isHopeless) reject(error);
        else await this.#alone(settlement).then(resolve, reject);
    }
  }

  async #step(batch: readonly Waiting[], ride: Ride | null): Promise<Stepped> {
    const settlements = batch.map(({ settlement }) => settlement);
    const party = this.#party;
    if (ride !== null) return this.#scripts.run(() => round(settlements, ride.turn, party), { durable: true });
    return { settled: await this.#scripts.run(() => settleAll(settlements, party), { durable: true }), taken: null };
  }

  async #alone(settlement: Settlement): Promise<boolean> {
    const isSettled = await this.#scripts.run(() => settle(settlement, this.#party), { durable: true });
    this.#rides.missed();
    return isSettled;
  }
}
