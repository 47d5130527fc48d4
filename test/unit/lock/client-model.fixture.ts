/**
 * A town of clients that present what they hold, on the reference store, step by step: no timers, and a clock that stands
 * still, so that no time limit ends a wait.
 */

import { HoldfastError } from "../../../src/base/errors.js";
import { type Decision, decide } from "../../../src/lock/decide.js";
import type { Grant, Want } from "../../../src/lock/grant.js";
import { treeOf } from "../../../src/lock/key.js";
import { createNodeOrder } from "../../../src/lock/order.js";
import { DEFAULT_SETTINGS } from "../../../src/lock/settings.js";
import type { Answer, Party } from "../../../src/store/contract.js";
import { createLocalStore } from "../../../src/store/local/local-store.js";
import { createMemoryLedger } from "../../../src/store/memory/ledger.js";
import { moment, surroundings, witness } from "../../fixtures/lock/samples.fixture.js";

const FOR_EVER_MS = 1e12;
const now = moment(0);

/** A request that waits. */
export interface Pending {
  readonly client: Client;
  readonly wants: readonly Want[];
  readonly upgradeOf: Grant | null;
  readonly tokenHash: string;
  ticketId: string | null;
}

export interface Client {
  readonly party: Party;
  readonly held: Grant[];
  readonly pending: Pending[];
}

export class Town {
  readonly clients: readonly Client[];
  readonly #ledger = createMemoryLedger("memory:town", DEFAULT_SETTINGS, () => now);
  readonly #store = createLocalStore(this.#ledger, surroundings());
  #tokens = 0;

  constructor(size: number) {
    this.clients = Array.from({ length: size }, (_, at) => ({
      party: { owner: `agent:${at}`, holderId: `host:user:${at}:0`, nonce: `nonce-${at}`, proof: { kind: "none" } },
      held: [],
      pending: [],
    }));
  }

  get waiting(): Pending[] {
    return this.clients.flatMap((client) => client.pending);
  }

  async acquire(client: Client, wants: readonly Want[]): Promise<void> {
    this.#tokens += 1;
    await this.retry({ client, wants, upgradeOf: null, tokenHash: `hash-${this.#tokens}`, ticketId: null });
  }

  async upgrade(client: Client, grant: Grant): Promise<void> {
    if (client.pending.some((other) => other.upgradeOf?.lockId === grant.lockId)) return;
    const wants: Want[] = [{ resource: grant.resource, mode: "write", permits: null }];
    await this.retry({ client, wants, upgradeOf: grant, tokenHash: grant.tokenHash, ticketId: null });
  }

  /** Asks (again), showing what the client holds now. A refusal ends the wait as well as a grant does. */
  async retry(request: Pending): Promise<void> {
    const { pending } = request.client;
    let answer: Answer | null = null;
    try {
      answer = await this.#ask(request);
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error;
    }
    if (answer?.kind === "queued") {
      request.ticketId = answer.ticketId;
      if (!pending.includes(request)) pending.push(request);
      return;
    }
    if (pending.includes(request)) pending.splice(pending.indexOf(request), 1);
    if (answer?.kind === "granted") this.#take(request, answer.grants);
    else if (request.ticketId !== null)
      await this.#store.locks.leave(request.ticketId, request.wants, request.client.party, null);
  }

  async downgrade(client: Client, grant: Grant): Promise<void> {
    const lowered = await this.#quietly(this.#store.locks.downgrade([grant], client.party));
    for (const each of lowered ?? []) replace(client.held, each);
  }

  async release(client: Client, grant: Grant): Promise<void> {
    if (client.pending.some((request) => request.upgradeOf?.lockId === grant.lockId)) return;
    const done = await this.#quietly(this.#store.locks.release([grant], client.party).then(() => true));
    if (done) client.held.splice(client.held.indexOf(grant), 1);
  }

  /** What the rules say about a request this moment. */
  async decisionOn({ client, wants, upgradeOf, ticketId }: Pending): Promise<Decision> {
    const keys = wants.map((want) => want.resource);
    return this.#ledger.transact(keys.map(treeOf), (view) => {
      const near = view.near(keys);
      const request = {
        wants,
        presented: new Set(client.held.map((grant) => grant.tokenHash)),
        holds: client.held.map((grant) => grant.resource),
        ticket: ticketId === null ? null : near.line.find(ticketId),
        upgradeOf,
        strictOrder: false,
      };
      const order = createNodeOrder(DEFAULT_SETTINGS.levels);
      return { result: decide(near, request, { now, witness: witness(), order }), changes: null };
    });
  }

  #ask({ client, wants, upgradeOf, tokenHash, ticketId }: Pending): Promise<Answer> {
    const { party, held } = client;
    const waiting = { waitMs: FOR_EVER_MS, ticketId };
    if (upgradeOf !== null) return this.#store.locks.upgrade({ ...waiting, grant: upgradeOf, party, presented: held });
    return this.#store.locks.acquire({
      ...waiting,
      wants,
      party,
      tokenHash,
      leaseMs: FOR_EVER_MS,
      graceMs: null,
      detached: false,
      metadata: {},
      presented: held,
      strictOrder: false,
      mustSteal: false,
    });
  }

  #take({ client, upgradeOf }: Pending, grants: readonly Grant[]): void {
    if (upgradeOf === null) client.held.push(...grants);
    else for (const each of grants) replace(client.held, each);
  }

  async #quietly<T>(action: Promise<T>): Promise<T | null> {
    try {
      return await action;
    } catch (error) {
      if (error instanceof HoldfastError) return null;
      throw error;
    }
  }
}

function replace(held: Grant[], grant: Grant): void {
  held.splice(
    held.findIndex((each) => each.lockId === grant.lockId),
    1,
    grant,
  );
}
