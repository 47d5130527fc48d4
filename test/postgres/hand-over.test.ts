/** The key that goes from hand to hand: whoever releases it gives it to the next in line, in one step. */
import pg from "pg";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { openHoldfast } from "../../src/index.js";
import type { AcquireRequest } from "../../src/store/contract.js";
import type { Connection } from "../../src/store/postgres/connection.js";
import { createLocks } from "../../src/store/postgres/locks.js";
import { createSystemClock } from "../../src/support/clock.js";
import { administer, sharedServer, type TestServer } from "./server.js";
import { newPostgresStore } from "./stores.js";

const LIMIT = 240_000;
const SEAL = "s".repeat(43);
const PROOF = '{"kind":"none"}';

// A busy machine may take seconds for what takes milliseconds.
vi.setConfig({ testTimeout: LIMIT });

let server: TestServer;
beforeAll(async () => {
  server = await sharedServer();
}, LIMIT);

interface Told {
  readonly kind: string;
  readonly ticket_id: string;
  readonly grants: readonly { readonly lock_id: string; readonly fencing_token: number }[];
}

/** A client that asks in SQL, with a session that can listen for it. */
class Waiter implements AsyncDisposable {
  readonly heard: string[] = [];
  readonly #session: pg.Client;
  readonly #nonce: string;
  readonly #lockId: string;

  private constructor(session: pg.Client, name: string) {
    this.#session = session;
    this.#nonce = name;
    this.#lockId = `00000000-0000-8000-8000-${Buffer.from(name.padEnd(6)).toString("hex")}`;
    session.on("notification", ({ payload = "" }) => this.heard.push(payload));
    session.on("error", () => undefined);
  }

  static async open(url: string, name: string): Promise<Waiter> {
    const session = new pg.Client({ connectionString: url });
    const waiter = new Waiter(session, name);
    await session.connect();
    return waiter;
  }

  async listen(): Promise<void> {
    await this.#session.query(
      `listen "holdfast_${this.#nonce}"; select pg_advisory_lock(holdfast.listener_of('${this.#nonce}'))`,
    );
  }

  async ask({
    ticket = null,
    isListening = true,
  }: {
    ticket?: string | null;
    isListening?: boolean;
  } = {}): Promise<Told> {
    const { rows } = await this.#session.query(
      `select holdfast.acquire('{k}', $1, wait_ms => 60000, token => $2, holder_id => 'h', nonce => $3, lock_ids => array[$4],
         proof => $5, ticket_id => $6, store => (select (holdfast.described() ->> 'store_id')::uuid),
         is_listening => $7, detached => false) as told`,
      [`agent:${this.#nonce}`, SEAL, this.#nonce, this.#lockId, PROOF, ticket, isListening],
    );
    return rows[0].told;
  }

  async release(): Promise<void> {
    await this.#session.query(
      `select holdfast.release('{k}', array[$1], $2, array[$3], 'h', (select (holdfast.described() ->> 'store_id')::uuid))`,
      [SEAL, `agent:${this.#nonce}`, this.#lockId],
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#session.end();
  }
}

async function newStore(): Promise<string> {
  const url = await newPostgresStore(server);
  const holdfast = await openHoldfast({ store: url, owner: "agent:first", heart: "loop" });
  await (await holdfast.acquire("k")).release();
  await holdfast.close();
  return url;
}

/** As if all in line had shown themselves so many milliseconds ago. */
const seen = (url: string, agoMs: number) =>
  administer(url, `update holdfast.tickets set refreshed_ms = holdfast.now_ms() - ${agoMs}`);
/** However slow the machine is. */
const JUST_NOW = -3_600_000;

const holders = (url: string) =>
  administer<{ owner: string; fence: number }>(
    url,
    "select owner, fencing_token::float8 as fence from holdfast.grants",
  );

describe("a release while others wait", () => {
  it("gives the key to the first that listens, in the same step, and tells it the answer without its secret", async () => {
    const url = await newStore();
    await using holder = await Waiter.open(url, "holder");
    await using first = await Waiter.open(url, "first");
    await using second = await Waiter.open(url, "second");
    await first.listen();
    await second.listen();
    const before = await holder.ask();
    const { ticket_id: ticket } = await first.ask();
    await second.ask();
    await seen(url, JUST_NOW);
    await holder.release();
    expect(await holders(url)).toMatchObject([{ owner: "agent:first" }]);
    await expect.poll(() => first.heard, { timeout: LIMIT }).toHaveLength(1);
    const [heard = ""] = first.heard;
    expect(heard.startsWith(`${ticket} {`)).toBe(true);
    expect(heard).not.toContain(SEAL);
    const told: Told = JSON.parse(heard.slice(ticket.length + 1));
    expect(told.kind).toBe("granted");
    expect(told.grants[0]?.fencing_token).toBeGreaterThan(before.grants[0]?.fencing_token ?? Number.NaN);
    const entries = await administer<{ event: string; owner: string; first: string | null }>(
      url,
      `select event, owner, details::json ->> 'first_lease_ms' as first from holdfast.audit where tree = 'k'
       order by seq desc limit 2`,
    );
    // One that was frozen meanwhile does not have it for long.
    expect(entries).toEqual([
      { event: "granted", owner: "agent:first", first: "10000" },
      { event: "released", owner: "agent:holder", first: null },
    ]);
    expect(await administer(url, "select lease_ms::int from holdfast.grants")).toEqual([{ lease_ms: 10_000 }]);
    const [chains] = await administer<{ told: { ok: boolean } }>(url, "select holdfast.audit_verify(null) as told");
    expect(chains?.told.ok).toBe(true);
    expect(await administer(url, "select owner from holdfast.tickets")).toEqual([{ owner: "agent:second" }]);
    expect(second.heard).toEqual([]);
  });

  it("only tells the first when it does not listen any more: it may be gone", async () => {
    const url = await newStore();
    await using holder = await Waiter.open(url, "holder");
    await using first = await Waiter.open(url, "first");
    await holder.ask();
    const { ticket_id: ticket } = await first.ask();
    await seen(url, JUST_NOW);
    await holder.release();
    expect(await holders(url)).toEqual([]);
    expect((await first.ask({ ticket })).kind).toBe("granted");
  });

  it("only tells the first when it has not said that it listens", async () => {
    const url = await newStore();
    await using holder = await Waiter.open(url, "holder");
    await using first = await Waiter.open(url, "first");
    await first.listen();
    await holder.ask();
    const { ticket_id: ticket } = await first.ask({ isListening: false });
    await seen(url, JUST_NOW);
    await holder.release();
    expect(await holders(url)).toEqual([]);
    await expect.poll(() => first.heard, { timeout: LIMIT }).toEqual([ticket]);
  });

  it("gives nothing to one that has not shown itself for a while: it may be frozen", async () => {
    const url = await newStore();
    await using holder = await Waiter.open(url, "holder");
    await using first = await Waiter.open(url, "first");
    await first.listen();
    await holder.ask();
    await first.ask();
    await seen(url, 1_100);
    await holder.release();
    expect(await holders(url)).toEqual([]);
  });

  it("gives nothing while a publish is left in the tree: who asks settles that first", async () => {
    const url = await newStore();
    await using holder = await Waiter.open(url, "holder");
    await using first = await Waiter.open(url, "first");
    await first.listen();
    await holder.ask();
    await first.ask();
    await seen(url, JUST_NOW);
    await administer(url, "update holdfast.trees set publishing = 1");
    await holder.release();
    expect(await holders(url)).toEqual([]);
  });

  it("gives it once: who did not hear of it is told when it asks by its place in line", async () => {
    const url = await newStore();
    await using holder = await Waiter.open(url, "holder");
    await using first = await Waiter.open(url, "first");
    await first.listen();
    await holder.ask();
    const { ticket_id: ticket } = await first.ask();
    await seen(url, JUST_NOW);
    await holder.release();
    const given = await holders(url);
    const told = await first.ask({ ticket });
    expect(told).toMatchObject({ kind: "granted", grants: [{ fencing_token: given[0]?.fence }] });
    expect(await holders(url)).toEqual(given);
  });
});

describe("a client that waits", () => {
  it("goes on with the answer that came with the wake-up, and trusts it from its last ask on", async () => {
    const asked: string[] = [];
    let answer: unknown;
    let bootMs = 1_000;
    const now = createSystemClock()();
    const clock = () => ({ ...now, bootMs });
    const queued = { kind: "queued", ticket_id: "t1", ahead: 0, contention: {} };
    const connection = {
      ask: async (statement: (again: boolean) => { text: string }) => {
        asked.push(/holdfast\.(\w+)/.exec(statement(false).text)?.[1] ?? "");
        return queued;
      },
      wakeUps: { isListening: () => true, takeAnswer: () => answer },
    } as unknown as Connection;
    const locks = createLocks(connection, "store", clock, async () => undefined);
    const request = {
      wants: [{ resource: "k", mode: "write", permits: null }],
      party: { owner: "agent:a", holderId: "h", nonce: "n", proof: { kind: "none" } },
      tokenHash: SEAL,
      presented: [],
      waitMs: 60_000,
      ticketId: null,
    } as unknown as AcquireRequest;
    await locks.acquire(request);
    bootMs = 1_500;
    await locks.acquire({ ...request, ticketId: "t1" });
    bootMs = 1_900;
    answer = { kind: "granted", now: 5, grants: [{ lock_id: "l", store: { token_hash: "" } }], ended: [] };
    const granted = await locks.acquire({ ...request, ticketId: "t1" });
    expect(asked).toEqual(["acquire", "acquire"]);
    expect(granted).toMatchObject({ kind: "granted", since: 1_500, grants: [{ tokenHash: SEAL }] });
  });

  it("gives back what it was given while it gave up", async () => {
    const url = await newStore();
    const open = (name: string) => openHoldfast({ store: url, owner: `agent:${name}`, heart: "loop" });
    const [holder, waiter, other] = [await open("holder"), await open("waiter"), await open("other")];
    for (let round = 0; round < 10; round += 1) {
      const held = await holder.acquire("k", { wait: LIMIT });
      const giveUp = new AbortController();
      const waiting = waiter.acquire("k", { wait: LIMIT, signal: giveUp.signal });
      const over = waiting.then(
        (lease) => lease.release(),
        () => undefined,
      );
      await expect
        .poll(() => administer(url, "select 1 from holdfast.tickets"), { timeout: LIMIT, interval: 5 })
        .toHaveLength(1);
      const released = held.release();
      giveUp.abort(new Error("enough"));
      await Promise.all([released, over]);
      // A grant that nobody knows of would be in the way for the length of its lease, and nobody would give it back.
      await (await other.acquire("k", { wait: 0 })).release();
    }
    for (const each of [holder, waiter, other]) await each.close();
  });
});
