/**
 * Keeps requests whose outcome is unknown: the connection broke, and could not be made again in time. A waiter that
 * repeats its request learns from the server what the earlier try did. A requester that has given up leaves a grant
 * that no process knows of, if it was granted: it is released as soon as the server answers again, and runs out with
 * its lease if it never does.
 */
import type { AcquireRequest, GrantRef, Party } from "../../contract.js";

/** Of a store that stays away, the latest are remembered. */
const MOST = 1_000;
/** Released with one answer, so that a store that has just come back is not met with all of them. */
const AT_ONCE = 8;

export interface Orphan {
  readonly refs: readonly GrantRef[];
  readonly party: Party;
}

const NONE: readonly Orphan[] = [];

export class UnknownOutcomes {
  readonly #waiting = new Map<string, AcquireRequest>();
  readonly #orphans: Orphan[] = [];
  readonly #refsOf: (request: AcquireRequest) => readonly GrantRef[];

  constructor(refsOf: (request: AcquireRequest) => readonly GrantRef[]) {
    this.#refsOf = refsOf;
  }

  /** True when an earlier try of this request may have been granted. */
  has({ tokenHash }: AcquireRequest): boolean {
    return this.#waiting.has(tokenHash);
  }

  /** Without a place in line nobody asks again. */
  add(request: AcquireRequest): void {
    if (request.ticketId === null) this.#giveUp(request);
    else this.#waiting.set(request.tokenHash, request);
  }

  #giveUp(request: AcquireRequest): void {
    this.#orphans.push({ refs: this.#refsOf(request), party: request.party });
    if (this.#orphans.length > MOST) this.#orphans.shift();
  }

  settled({ tokenHash }: AcquireRequest): void {
    this.#waiting.delete(tokenHash);
  }

  /** Its waiter has given up. */
  left(ticketId: string): void {
    for (const request of this.#waiting.values())
      if (request.ticketId === ticketId) {
        this.settled(request);
        this.add({ ...request, ticketId: null });
      }
  }

  /** Some of those that are to be released, until there are none. */
  takeOrphans(): readonly Orphan[] {
    return this.#orphans.length === 0 ? NONE : this.#orphans.splice(0, AT_ONCE);
  }
}
