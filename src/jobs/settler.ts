/**
 * Settlements of one worker that come together share one step, and so one sync of the disk. A turn that the worker is about
 * to take rides along. When such a step fails, each is settled by itself and without the turn, so that none suffers for
 * another. One that writes rows of the caller's own goes alone: its statements must not be made again because of somebody
 * else.
 */
import type { Party, Script, Scripts } from "../store/contract.js";
import { isHoldfastError } from "../support/errors.js";
import { type Settlement, settle, settleAll } from "./steps/settle.js";
import type { Turn } from "./steps/turn.js";

/** A turn that is taken in the same step as settlements. It is told what it brought, or null when nothing came of it. */
export interface Ride {
  script(): Script<Turn>;
  over(taken: Turn | null): void;
}

/** Asked before each step that settles so many runs: null when there is no turn to take. */
type Rides = (settling: number) => Ride | null;

interface Waiting {
  readonly settlement: Settlement;
  resolve(isSettled: boolean): void;
  reject(error: unknown): void;
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

  constructor(scripts: Scripts, party: Party, rides: Rides = () => null) {
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
    const ride = this.#rides(batch.length);
    try {
      const { settled, taken } = await this.#scripts.run(() => this.#step(batch, ride), { durable: true });
      for (const [at, { resolve }] of batch.entries()) resolve(settled[at] === true);
      ride?.over(taken);
    } catch (error) {
      ride?.over(null);
      const isHopeless = batch.length === 1 || HOPELESS.some((code) => isHoldfastError(error, code));
      for (const { settlement, resolve, reject } of batch)
        if (isHopeless) reject(error);
        else await this.#alone(settlement).then(resolve, reject);
    }
  }

  *#step(batch: readonly Waiting[], ride: Ride | null): Script<{ settled: readonly boolean[]; taken: Turn | null }> {
    const settled = yield* settleAll(
      batch.map(({ settlement }) => settlement),
      this.#party,
    );
    return { settled, taken: ride === null ? null : yield* ride.script() };
  }

  #alone(settlement: Settlement): Promise<boolean> {
    return this.#scripts.run(() => settle(settlement, this.#party), { durable: true });
  }
}
