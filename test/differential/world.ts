/** One history happening on one store. */
import type { Grant, Want } from "../../src/lock/grant.js";
import { type Key, parseKey, treeOf } from "../../src/lock/key.js";
import { ticketStands } from "../../src/lock/profile.js";
import type { AcquireRequest, Answer, GrantRef, Party, Waiting } from "../../src/store/contract.js";
import type { Habitat } from "./habitats.js";
import { CLIENTS, type PlacedWant, type Step, TREES } from "./history.js";
import {
  tellContention,
  tellEntry,
  tellError,
  tellGrant,
  tellInTheWay,
  tellLast,
  tellTicket,
  tellTicketId,
} from "./telling.js";

interface Pending {
  readonly wants: readonly Want[];
  readonly ask: (waiting: Waiting) => Promise<Answer>;
  readonly waiting: Waiting;
  /** What may have been handed over, when it leaves the line. */
  readonly heirloom: Pick<GrantRef, "resource" | "tokenHash"> | null;
}

interface Client {
  readonly party: Party;
  readonly held: GrantRef[];
  readonly pending: Pending[];
}

/** Two may break locks, two may not. */
const OWNERS = ["agent:a", "user:b", "job:c", "admin:d"] as const;

type StepOf<Do extends Step["do"]> = Extract<Step, { readonly do: Do }>;

export class World {
  readonly #habitat: Habitat;
  readonly #name: string;
  readonly #clients: readonly Client[];
  readonly #tokens: Pick<Grant, "resource" | "fencingToken">[] = [];
  /** Whoever releases a key may grant it to those who wait for it. */
  readonly #handsOver: boolean;
  #serial = 0;

  constructor(habitat: Habitat, name: string, handsOver: boolean) {
    this.#habitat = habitat;
    this.#name = name;
    this.#handsOver = handsOver;
    this.#clients = Array.from({ length: CLIENTS }, (_, at) => {
      const nonce = `${name}-${at}`;
      const proof = habitat.bear(nonce);
      return {
        party: { owner: OWNERS[at] ?? "agent:x", holderId: `host:user:${at}:0`, nonce, proof },
        held: [],
        pending: [],
      };
    });
  }

  /** The answers to every step, and what is on record at the end. */
  async live(history: readonly Step[]): Promise<unknown[]> {
    const story: unknown[] = [];
    for (const step of history) {
      this.#habitat.pass(1);
      story.push({ step, answer: await this.#take(step).catch(tellError) });
    }
    story.push(await this.#record());
    for (const { party } of this.#clients) this.#habitat.kill(party.nonce);
    return story;
  }

  async #take(step: Step): Promise<unknown> {
    const { store } = this.#habitat;
    switch (step.do) {
      case "acquire":
        return this.#acquire(step);
      case "upgrade":
        return this.#upgrade(step);
      case "retry":
      case "leave":
      case "give up":
        return this.#goOnWaiting(step);
      case "recover":
      case "break":
        return this.#end(step);
      case "verify":
        return tellGrant(await store.fence.verify(this.#key(step.place), this.#tokenNear(step)));
      case "inspect":
        return this.#inspect(step.place);
      case "pass":
        return this.#habitat.pass(step.ms);
      case "die":
        return this.#habitat.kill(this.#client(step.by).party.nonce);
      default:
        return this.#useHeld(step);
    }
  }

  async #acquire(step: StepOf<"acquire">): Promise<unknown> {
    const client = this.#client(step.by);
    this.#serial += 1;
    const request: Omit<AcquireRequest, keyof Waiting | "presented"> = {
      wants: step.wants.map((want) => this.#want(want)),
      party: step.special === "detached" ? { ...client.party, proof: { kind: "none" } } : client.party,
      // PostgreSQL has a short way for what looks like a hash, and a long one for the rest: both are tried.
      tokenHash: `secret-${this.#serial}`.padEnd(this.#serial % 4 === 0 ? 44 : 43, "x"),
      leaseMs: step.leaseMs,
      graceMs: step.leaseMs === 4_000 ? 6_000 : null,
      detached: step.special === "detached",
      metadata: { serial: this.#serial },
      strictOrder: step.special === "strict order",
      mustSteal: step.special === "steal",
      mayInherit: this.#handsOver && step.special === null && step.wants.length === 1,
    };
    const shown = (): readonly GrantRef[] =>
      step.shows === "all" ? client.held : step.shows === "last" ? client.held.slice(-1) : [];
    const { locks } = this.#habitat.store;
    const { mayInherit = false } = request;
    const ask = (waiting: Waiting) => {
      const presented = shown();
      return locks.acquire({ ...request, ...waiting, presented, mayInherit: mayInherit && presented.length === 0 });
    };
    const [want] = request.wants;
    const heirloom = mayInherit && want ? { resource: want.resource, tokenHash: request.tokenHash } : null;
    return this.#ask(client, { wants: request.wants, ask, waiting: { waitMs: step.waitMs, ticketId: null }, heirloom });
  }

  async #upgrade({ by, which, waitMs }: StepOf<"upgrade">): Promise<unknown> {
    const client = this.#one(by, (each) => each.held.length > 0);
    const grant = pick(client.held, which);
    if (grant === undefined) return "nothing to upgrade";
    const { party, held } = client;
    const ask = (waiting: Waiting) => this.#habitat.store.locks.upgrade({ ...waiting, grant, party, presented: held });
    const wants: Want[] = [{ resource: grant.resource, mode: "write", permits: null }];
    return this.#ask(client, { wants, ask, waiting: { waitMs, ticketId: null }, heirloom: null });
  }

  async #ask(client: Client, request: Pending): Promise<unknown> {
    const answer = await request.ask(request.waiting);
    switch (answer.kind) {
      case "granted":
        for (const grant of answer.grants) this.#hold(client, grant);
        return { granted: answer.grants.map(tellGrant) };
      case "queued":
        client.pending.push({ ...request, waiting: { ...request.waiting, ticketId: answer.ticketId } });
        return { queued: tellTicketId(answer.ticketId), behind: tellInTheWay(answer.inTheWay) };
      case "conflict":
        return { conflict: tellContention(answer.contention) };
    }
  }

  async #goOnWaiting(step: StepOf<"retry" | "leave" | "give up">): Promise<unknown> {
    const client = this.#one(step.by, (each) => each.pending.length > 0);
    const request = pick(client.pending, step.which);
    if (request === undefined) return "nobody waits";
    client.pending.splice(client.pending.indexOf(request), 1);
    if (step.do === "retry") return this.#ask(client, request);
    const { ticketId } = request.waiting;
    const answer = step.do === "give up" ? await request.ask({ ...request.waiting, waitMs: 0 }) : null;
    if (answer?.kind === "granted") for (const grant of answer.grants) this.#hold(client, grant);
    const report = answer?.kind === "conflict" ? answer.contention : null;
    const { abilities, locks } = this.#habitat.store;
    await locks.leave(ticketId ?? "", request.wants, client.party, report);
    const handed =
      request.heirloom === null || !abilities.handsOver
        ? null
        : locks.handed(request.heirloom.resource, request.heirloom.tokenHash);
    if (handed) await locks.release([handed], client.party);
    return { left: report === null ? "silently" : tellContention(report) };
  }

  async #useHeld(step: Extract<Step, { readonly which: number; readonly by: number }>): Promise<unknown> {
    const client = this.#one(step.by, (each) => each.held.length > 0);
    const { locks, fence } = this.#habitat.store;
    const ref = pick(client.held, step.which);
    if (ref === undefined) return "holds nothing";
    switch (step.do) {
      case "renew":
        return (await locks.renew(step.which % 3 === 0 ? client.held : [ref], step.leaseMs)).map(tellGrant);
      case "downgrade":
        return (await locks.downgrade([ref], client.party)).map(tellGrant);
      case "release":
        await locks.release([ref], client.party);
        return this.#drop(client, [ref]);
      case "release all": {
        const all = [...client.held];
        await locks.release(all, client.party);
        return this.#drop(client, all);
      }
      case "release another's": {
        const theirs = pick(this.#client(step.which).held, step.which) ?? ref;
        return locks.release([{ ...theirs, tokenHash: ref.tokenHash }], client.party);
      }
      case "resume": {
        this.#serial += 1;
        const resumed = await locks.resume([ref], `secret-${this.#serial}`, client.party);
        this.#drop(client, [ref]);
        for (const grant of resumed) this.#hold(client, grant);
        return resumed.map(tellGrant);
      }
      case "commit":
        return fence.commit(step.which % 3 === 0 ? client.held : [ref], () => "written");
      // Perhaps to itself: then it names the same grant twice.
      case "lend":
        this.#client(step.by + 1).held.push(ref);
        return "lent";
      default:
        throw new Error(`no such step: ${step.do}`);
    }
  }

  async #end(step: StepOf<"recover" | "break" | "inspect">): Promise<unknown> {
    const ended = await this.#habitat.store.locks.end({
      resource: this.#key(step.place),
      party: this.#client(step.by).party,
      how: step.do === "break" ? "broken" : "recovered",
      reason: step.do === "break" ? "in the way" : null,
    });
    return ended.map(tellGrant);
  }

  async #inspect(place: string): Promise<unknown> {
    const { resource, grants, waiters, unreadable, fencingToken } = await this.#habitat.store.reader.inspect(
      this.#key(place),
    );
    const standing = waiters.filter((waiter) => ticketStands(waiter, this.#habitat.now()));
    const inLine = standing.map((waiter) => ({ isHead: waiter.number === 0, ...(tellTicket(waiter) as object) }));
    return { resource, grants: grants.map(tellGrant), inLine, unreadable, last: tellLast(resource, fencingToken) };
  }

  async #record(): Promise<unknown> {
    const { reader } = this.#habitat.store;
    const trees = [];
    for (const place of TREES) {
      const tree = this.#key(place);
      const entries = await reader.audit({ tree, afterSeq: 0, limit: 1_000 });
      const held = await reader.list({ prefix: tree, after: null, limit: 1_000 });
      trees.push({
        tree: place,
        entries: entries.map(tellEntry),
        verdict: await reader.verifyAudit(tree),
        held: held.map((grant) => grant.resource),
        state: await this.#inspect(place),
      });
    }
    return trees;
  }

  #hold(client: Client, { resource, lockId, tokenHash, fencingToken }: Grant): void {
    this.#tokens.push({ resource, fencingToken });
    if (!client.held.some((ref) => ref.lockId === lockId)) client.held.push({ resource, lockId, tokenHash });
  }

  #drop(client: Client, refs: readonly GrantRef[]): string {
    for (const ref of refs) client.held.splice(client.held.indexOf(ref), 1);
    return "released";
  }

  #tokenNear({ place, which }: StepOf<"verify">): number {
    const tree = treeOf(this.#key(place));
    const seen = this.#tokens.filter(({ resource }) => treeOf(resource) === tree);
    return pick(seen, which)?.fencingToken ?? 1;
  }

  /** A client of whom this is true, if there is any. */
  #one(at: number, isTrue: (client: Client) => boolean): Client {
    return pick(this.#clients.filter(isTrue), at) ?? this.#client(at);
  }

  #client(at: number): Client {
    const client = this.#clients[at % CLIENTS];
    if (client === undefined) throw new RangeError("no such client");
    return client;
  }

  #key(place: string): Key {
    return parseKey(place.replace("%", this.#name));
  }

  #want({ place, mode, permits }: PlacedWant): Want {
    return { resource: this.#key(place), mode, permits };
  }
}

function pick<T>(list: readonly T[], which: number): T | undefined {
  return list[which % Math.max(1, list.length)];
}
