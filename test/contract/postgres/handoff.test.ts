/** The key that goes from hand to hand: whoever releases it gives it to the next in line, in one step. */
import { hash } from "node:crypto";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { HoldfastError } from "../../../src/base/errors.js";
import { openHoldfast } from "../../../src/index.js";
import { createSystemClock } from "../../../src/platform/clock.js";
import type { AcquireRequest } from "../../../src/store/contract.js";
import type { Connection } from "../../../src/store/postgres/connection/connection.js";
import { readHandedOver } from "../../../src/store/postgres/locks/acquire-one.js";
import { createLocks } from "../../../src/store/postgres/locks/locks.js";
import { sealOf } from "../../../src/store/postgres/locks/token-digest.js";
import { administer, sharedServer, type TestServer } from "../../fixtures/postgres/server.fixture.js";
import { newPostgresStore } from "../../fixtures/postgres/stores.fixture.js";
import { HASH, type Told, Waiter } from "./waiter.fixture.js";

const LIMIT = 240_000;

// A busy machine may take seconds for what takes milliseconds.
vi.setConfig({ testTimeout: LIMIT });

let server: TestServer;
beforeAll(async () => {
  server = await sharedServer();
}, LIMIT);

interface Scene extends AsyncDisposable {
  readonly url: string;
  readonly holder: Waiter;
  readonly first: Waiter;
  readonly second: Waiter;
  /** What the holder was told when it took the key, and the first when it came into line. */
  readonly before: Told;
  readonly ticket: string;
}

/** The holder has the key; the first waits for it, listens and says so, or not, and was last seen so long ago. */
async function scene({
  listens = true,
  saysSo = true,
  seenMsAgo = JUST_NOW,
  profile = "default",
} = {}): Promise<Scene> {
  const url = await newStore();
  await administer(url, `update holdfast.store set profile_prefixes = '{k}', profile_names = '{${profile}}'`);
  const holder = await Waiter.open(url, "holder");
  const first = await Waiter.open(url, "first");
  const second = await Waiter.open(url, "second");
  if (listens) await first.listen();
  const before = await holder.ask();
  const { ticket_id: ticket } = await first.ask({ isListening: saysSo });
  await seen(url, seenMsAgo);
  const close = async () => {
    for (const each of [holder, first, second]) await each[Symbol.asyncDispose]();
  };
  return { url, holder, first, second, before, ticket, [Symbol.asyncDispose]: close };
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
const JUST_NOW = -50_000;

const holders = (url: string) =>
  administer<{ owner: string; fence: number }>(
    url,
    "select owner, fencing_token::float8 as fence from holdfast.grants",
  );

describe("a release while others wait", () => {
  it("gives the key to the first that listens, in the same step, and tells it without its secret", async () => {
    await using stage = await scene();
    const { url, holder, first, second, before, ticket } = stage;
    await second.listen();
    await second.ask();
    await seen(url, JUST_NOW);
    await holder.release();
    expect(await holders(url)).toMatchObject([{ owner: "agent:first" }]);
    await expect.poll(() => first.heard, { timeout: LIMIT }).toHaveLength(1);
    const [heard = ""] = first.heard;
    expect(heard.startsWith(`${ticket} `)).toBe(true);
    expect(heard).not.toContain(HASH);
    expect(heard).not.toContain(sealOf(HASH));
    const told = readHandedOver(heard.slice(ticket.length + 1), ticket, HASH);
    expect(told).toMatchObject({ kind: "taken", lease_ms: 10_000, profile: "default" });
    expect(told?.fencing_token).toBeGreaterThan(before.fencing_token);
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

  // kills: postgres-handed-to-nobody
  it("only tells the first when it does not listen any more: it may be gone", async () => {
    await using stage = await scene({ listens: false });
    const { url, holder, first, ticket } = stage;
    await holder.release();
    expect(await holders(url)).toEqual([]);
    expect((await first.ask({ ticket })).kind).toBe("taken");
  });

  it("only tells the first when it has not said that it listens", async () => {
    await using stage = await scene({ saysSo: false });
    const { url, holder, first, ticket } = stage;
    await holder.release();
    expect(await holders(url)).toEqual([]);
    await expect.poll(() => first.heard, { timeout: LIMIT }).toEqual([ticket]);
  });

  // kills: postgres-handed-to-the-frozen
  it("gives nothing to one that has not shown itself for a while: it may be frozen", async () => {
    await using stage = await scene({ seenMsAgo: 1_100 });
    await stage.holder.release();
    expect(await holders(stage.url)).toEqual([]);
  });

  // kills: postgres-handed-unsettled
  it("gives nothing while a publish is left in the tree: who asks settles that first", async () => {
    await using stage = await scene();
    await administer(stage.url, "update holdfast.trees set publishing = 1");
    await stage.holder.release();
    expect(await holders(stage.url)).toEqual([]);
  });

  // kills: postgres-handed-unheard
  it("gives it once: who did not hear of it is told when it asks by its place in line", async () => {
    await using stage = await scene();
    const { url, holder, first, ticket } = stage;
    await holder.release();
    const given = await holders(url);
    const told = await first.ask({ ticket });
    expect(told).toMatchObject({ kind: "granted", grants: [{ fencing_token: given[0]?.fence }] });
    expect(await holders(url)).toEqual(given);
    const since = "select lease_ms::int, renewed_ms > created_ms as is_renewed from holdfast.grants";
    expect(await administer(url, since)).toEqual([{ lease_ms: 30_000, is_renewed: true }]);
  });

  // kills: take-up-over
  it("gives it anew to one that did not hear of it until it was over", async () => {
    await using stage = await scene();
    const { url, holder, first, ticket } = stage;
    await holder.release();
    const [given] = await holders(url);
    await administer(
      url,
      "update holdfast.grants set created_ms = created_ms - 10001, renewed_ms = renewed_ms - 10001",
    );
    const told = await first.ask({ ticket });
    expect(told).toMatchObject({ kind: "granted", ended: [{ fencing_token: given?.fence }] });
    const [anew, ...others] = await holders(url);
    expect([anew?.owner, others]).toEqual(["agent:first", []]);
    expect(anew?.fence).toBeGreaterThan(given?.fence ?? Number.POSITIVE_INFINITY);
    const [chains] = await administer<{ told: { ok: boolean } }>(url, "select holdfast.audit_verify(null) as told");
    expect(chains?.told.ok).toBe(true);
  });

  // kills: hand-over-dal, postgres-handed-to-the-frozen
  it("only tells the first where a grant outlives its lease: it may be frozen", async () => {
    await using stage = await scene({ profile: "dal" });
    const { url, holder, first, ticket } = stage;
    await holder.release();
    expect(await holders(url)).toEqual([]);
    await expect.poll(() => first.heard, { timeout: LIMIT }).toEqual([ticket]);
  });

  it("only tells a client that asks with acquire, and reads nothing else", async () => {
    await using stage = await scene();
    const { url, holder, first, second } = stage;
    await second.listen();
    const { ticket_id: ticket } = await second.askByAcquire();
    await seen(url, JUST_NOW);
    await holder.release();
    await first.release();
    expect(await holders(url)).toEqual([]);
    await expect.poll(() => second.heard, { timeout: LIMIT }).toEqual([ticket]);
  });
});

describe("a line when the server's clock is set back", () => {
  // kills: line-clock-back, line-clock-back-seen
  it("LOCK-12: is not held up by one of before that nobody knows to be there still", async () => {
    await using stage = await scene({ listens: false, seenMsAgo: -3_600_000 });
    const { url, holder, second } = stage;
    await holder.release();
    await second.ask();
    expect(await holders(url)).toMatchObject([{ owner: "agent:second" }]);
  });

  // kills: line-clock-back, line-clock-back-seen
  it("LOCK-12: keeps the places of those who go on asking, by the clock as it is now", async () => {
    await using stage = await scene({ listens: false, seenMsAgo: -30_000 });
    const { url, first, second, ticket } = stage;
    await second.ask();
    expect((await first.ask({ ticket })).kind).toBe("queued");
    expect(
      await administer(
        url,
        "select owner, refreshed_ms <= holdfast.now_ms() as known from holdfast.tickets order by number",
      ),
    ).toEqual([
      { owner: "agent:first", known: true },
      { owner: "agent:second", known: true },
    ]);
  });
});

const TAKEN = '{"kind":"taken","now":5,"fencing_token":7,"lease_ms":10000,"profile":"default"}';

/** A client whose server always puts it into line, and which hears what the test says. */
function waitingClient() {
  const asked: string[] = [];
  let heard: string | undefined;
  const clock = { ...createSystemClock()(), bootMs: 1_000 };
  const connection = {
    askText: async (statement: (again: boolean) => { text: string }) => {
      asked.push(/holdfast\.(\w+)/.exec(statement(false).text)?.[1] ?? "");
      return JSON.stringify({ kind: "queued", ticket_id: "t1", ahead: 0, contention: {} });
    },
    ask: async () => {
      throw new HoldfastError("E_STORE_UNAVAILABLE", "the line is cut", { reason: "unreachable" });
    },
    wakeUps: { isListening: () => true, takeAnswer: () => heard },
  } as unknown as Connection;
  const request = {
    wants: [{ resource: "k", mode: "write", permits: null }],
    party: { owner: "agent:a", holderId: "h", nonce: "n", proof: { kind: "none" } },
    tokenHash: HASH,
    metadata: {},
    presented: [],
    waitMs: 60_000,
    ticketId: null,
  } as unknown as AcquireRequest;
  const hears = (told: string): void => {
    heard = told;
  };
  return {
    locks: createLocks(
      connection,
      "store",
      () => clock,
      async () => undefined,
    ),
    asked,
    request,
    clock,
    hears,
  };
}

describe("a client that waits", () => {
  // kills: postgres-handed-trust
  it("goes on with what came with the wake-up, and trusts it from its last ask on", async () => {
    const { locks, asked, request, clock, hears } = waitingClient();
    await locks.acquire(request);
    clock.bootMs = 1_500;
    await locks.acquire({ ...request, ticketId: "t1" });
    clock.bootMs = 1_900;
    hears(`${hash("sha256", `${sealOf(HASH)} t1 ${TAKEN}`, "hex")} ${TAKEN}`);
    const granted = await locks.acquire({ ...request, ticketId: "t1" });
    expect(asked).toEqual(["take", "take"]);
    expect(granted).toMatchObject({ kind: "granted", since: 1_500, grants: [{ tokenHash: HASH, fencingToken: 7 }] });
  });

  // kills: heard-long-ago
  it("asks for what came with the wake-up when that may have been a while ago: it was frozen, perhaps", async () => {
    const { locks, asked, request, clock, hears } = waitingClient();
    await locks.acquire(request);
    clock.bootMs += 2_001;
    hears(`${hash("sha256", `${sealOf(HASH)} t1 ${TAKEN}`, "hex")} ${TAKEN}`);
    expect(await locks.acquire({ ...request, ticketId: "t1" })).toMatchObject({ kind: "queued" });
    expect(asked).toEqual(["take", "take"]);
  });

  // kills: postgres-handed-forged
  it("does not believe a wake-up that the server did not sign: it asks", async () => {
    const { locks, asked, request, hears } = waitingClient();
    await locks.acquire(request);
    hears(`${hash("sha256", `${"x".repeat(43)} t1 ${TAKEN}`, "hex")} ${TAKEN}`);
    expect(await locks.acquire({ ...request, ticketId: "t1" })).toMatchObject({ kind: "queued" });
    expect(asked).toEqual(["take", "take"]);
  });

  it("gives back, once the server answers again, what it may be given after it left without an answer", async () => {
    const { locks, asked, request } = waitingClient();
    await locks.acquire(request);
    const leaving = locks.leave("t1", request.wants, request.party, null);
    await expect(leaving).rejects.toMatchObject({ code: "E_STORE_UNAVAILABLE" });
    await locks.acquire(request);
    await expect.poll(() => asked).toEqual(["take", "take", "hand_over"]);
  });

  // kills: postgres-handed-given-up
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
