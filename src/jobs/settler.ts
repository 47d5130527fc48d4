/**
 * Settlements of one worker that come together share one step, and so one sync of the disk. When such a step fails, each
 * is settled by itself, so that none suffers for another. One that writes rows of the caller's own goes alone: its
 * statements must not be made again because of somebody else.
 */
import type { Party, Scripts } from "../store/contract.js";
import { isHoldfastError } from "../support/errors.js";
import { type Settlement, settle, settleAll } from "./steps/settle.js";

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
  readonly #waiting: Waiting[] = [];
  #isBusy = false;

  constructor(scripts: Scripts, party: Party) {
    this.#scripts = scripts;
    this.#party = party;
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
    const settlements = batch.map(({ settlement }) => settlement);
    try {
      const settled = await this.#scripts.run(() => settleAll(settlements, this.#party), { durable: true });
      for (const [at, { resolve }] of batch.entries()) resolve(settled[at] === true);
    } catch (error) {
      const isHopeless = batch.length === 1 || HOPELESS.some((code) => isHoldfastError(error, code));
      for (const { settlement, resolve, reject } of batch)
        if (isHopeless) reject(error);
        else await this.#alone(settlement).then(resolve, reject);
    }
  }

  #alone(settlement: Settlement): Promise<boolean> {
    return this.#scripts.run(() => settle(settlement, this.#party), { durable: true });
  }
}
