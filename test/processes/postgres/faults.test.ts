import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { migrateStore, openHoldfast } from "../../../src/index.js";
import { parseKey } from "../../../src/lock/key.js";
import { createSystemClock } from "../../../src/platform/clock.js";
import { openPostgresStore } from "../../../src/store/postgres/open.js";
import { client } from "../../fixtures/postgres/clients.fixture.js";
import { openProxy } from "../../fixtures/postgres/proxy.fixture.js";
import {
  administer,
  databaseOf,
  inDatabase,
  ownServer,
  type TestServer,
} from "../../fixtures/postgres/server.fixture.js";
import { newPostgresStore } from "../../fixtures/postgres/stores.fixture.js";
import { crashWhile } from "../../fixtures/publish/server-crash.fixture.js";
import { acquireRequest } from "../../fixtures/store/acquire-request.fixture.js";
import { comesOff } from "../../fixtures/succeeds-once.fixture.js";

const PATIENTLY = { timeout: 300_000 };
const OUTCOME = { timeout: 60_000, interval: 50 };

let server: TestServer;

beforeAll(() => {
  server = ownServer({ isDurable: true });
}, 240_000);
afterAll(() => server.control?.crash());

/** What a backend that was killed, or a lease that nobody could renew meanwhile, may answer; none of it was written twice. */
const WITHOUT_A_WORD = [
  "E_STORE_UNAVAILABLE",
  "E_COMMIT_UNCERTAIN",
  "E_LOCK_NOT_HELD",
  "E_LOCK_EXPIRED",
  "E_FENCING_MISMATCH",
  "E_LOCK_TIMEOUT",
];

const code = (error: unknown): string => (error as { code?: string }).code ?? String(error);

describe("faults", PATIENTLY, () => {
  // kills: postgres-flush
  it("PUB-3: a crash of the server between check and record of a publish leaves record and disk agreed", () =>
    crashWhile(server, "renaming"));

  // kills: postgres-flush
  it("STORE-6: a crash of the server loses no grant and no entry, makes no second holder, and waiters go on waiting", async () => {
    const url = await newPostgresStore(server);
    const a = await client(url);
    const b = await client(url, { owner: "agent:b" });
    const lease = await a.acquire("k", { ttl: "10m" });
    const kept = await a.acquire("kept", { detached: true, ttl: "1h" });
    const before = await a.audit.list();
    let entered = false;
    const waiting = b.acquire("k", { wait: "10m" }).then((next) => {
      entered = true;
      return next;
    });
    await vi.waitUntil(async () => (await a.inspect("k")).waiters.length === 1, OUTCOME);
    // Its release lets the next in before the disk has it, and nobody else writes the log out.
    const handed = await a.acquire("handed", { ttl: "1h" });
    await administer(
      url,
      "alter system set wal_writer_delay = '10s'",
      "select pg_reload_conf()",
      "select holdfast.acquire('{handed}', 'agent:b', wait_ms => 60000)",
    );
    await handed.release();

    server.control?.crash();
    expect(code(await lease.verify().catch((error: unknown) => error))).toBe("E_STORE_UNAVAILABLE");
    expect(code(await b.acquire("other").catch((error: unknown) => error))).toBe("E_STORE_UNAVAILABLE");
    expect(lease.state).not.toBe("lost");
    server.control?.start();

    await vi.waitUntil(
      () =>
        lease.verify().then(
          () => true,
          () => false,
        ),
      OUTCOME,
    );
    expect(entered).toBe(false);
    expect((await a.audit.list()).slice(0, before.length)).toEqual(before);
    const held = await a.list();
    expect(held.map((record) => record.lock_id)).toContain(kept.grants[0]?.lock_id);
    expect(held.map((record) => record.resource)).not.toContain("handed");
    expect((await a.audit.list({ resource: "handed" })).map(({ event }) => event)).toEqual(["granted", "released"]);
    await administer(url, "alter system reset wal_writer_delay", "select pg_reload_conf()");
    await lease.release();
    const next = await waiting;
    expect(next.fencingToken).toBeGreaterThan(lease.fencingToken);
    expect((await a.audit.verify()).ok).toBe(true);
  });

  // kills: postgres-epoch
  it("FENCE-1: after a restart numbers start higher than any that can have been given out", async () => {
    const url = await newPostgresStore(server);
    const a = await client(url);
    const lease = await a.acquire("k");
    server.control?.stop();
    server.control?.start();
    // As if the last thousand had been lost with the old server.
    await administer(url, "update holdfast.trees set fence = fence - 1000");
    await vi.waitUntil(
      () =>
        lease.release().then(
          () => true,
          () => false,
        ),
      OUTCOME,
    );
    expect((await a.acquire("k")).fencingToken).toBeGreaterThan(lease.fencingToken + 1_000);
  });

  it("STORE-6: a lease that cannot be renewed is lost before others may take over", async () => {
    const url = await newPostgresStore(server);
    const a = await client(url);
    const lease = await a.acquire("k", { ttl: "3s" });
    let lostAt = 0;
    lease.signal.addEventListener("abort", () => {
      lostAt = Date.now();
    });
    server.control?.crash();
    await vi.waitUntil(() => lostAt > 0, OUTCOME);
    server.control?.start();
    const b = await client(url, { owner: "agent:b" });
    const next = await b.acquire("k", { wait: "1m" });
    expect(Date.parse(next.grants[0]?.created_at ?? "")).toBeGreaterThan(lostAt);
    expect(code(await lease.commit(() => expect.unreachable("it wrote")).catch((error: unknown) => error))).toBe(
      "E_LOCK_EXPIRED",
    );
  });

  it("STORE-6: killed backends cost tries, not locks: no lost update, no grant left, one whole chain", async () => {
    const url = await newPostgresStore(server);
    await administer(url, "create table public.counter as select 0 as n");
    const clients = await Promise.all([1, 2, 3].map((at) => client(url, { owner: `agent:${at}` })));
    let done = 0;
    let unknown = 0;
    let isOver = false;
    const killer = (async () => {
      while (!isOver) {
        await administer(
          url,
          "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'holdfast%' and random() < 0.5",
        );
        await sleep(60);
      }
    })();
    const counting = Promise.all(
      clients.map(async (holdfast) => {
        for (let round = 0; round < 8; round += 1)
          try {
            await holdfast.withLock("counter", { wait: "60s", ttl: "5s" }, (lease) =>
              lease.transaction(async (sql) => {
                const [row] = await sql.query("select n from public.counter");
                await sql.query("update public.counter set n = $1", [Number(row?.n) + 1]);
              }),
            );
            done += 1;
          } catch (error) {
            expect(WITHOUT_A_WORD, String(error)).toContain(code(error));
            unknown += 1;
          }
      }),
    );
    await counting.finally(() => {
      isOver = true;
    });
    await killer;
    const [row] = await administer<{ n: number }>(url, "select n from public.counter");
    expect(row?.n).toBeGreaterThanOrEqual(done);
    expect(row?.n).toBeLessThanOrEqual(done + unknown);
    const [first] = clients;
    await vi.waitUntil(async () => {
      await first?.withLock("something/else", {}, () => undefined);
      return (await first?.list())?.length === 0;
    }, OUTCOME);
    expect((await first?.audit.verify())?.ok).toBe(true);
  });

  // kills: postgres-again
  it("STORE-6: an acquire whose answer is lost is found again by its id, not granted twice", async () => {
    const url = await newPostgresStore(server);
    const proxy = await openProxy(server.control?.socket ?? "");
    const a = await client(`postgres://postgres@127.0.0.1:${proxy.port}/${databaseOf(url)}`);
    let key = "";
    await comesOff(async () => {
      key += "k";
      await (await a.acquire("warm")).release();
      proxy.muteServer();
      // Who may wait would find it from its place in line.
      const acquiring = a.acquire(key, { wait: 0 }).catch((error: unknown) => code(error));
      await vi.waitUntil(
        async () => (await administer(url, `select 1 from holdfast.grants where resource = '${key}'`)).length === 1,
        OUTCOME,
      );
      proxy.breakAll();
      const lease = await acquiring;
      expect(await a.audit.list({ resource: key, event: "granted" })).toHaveLength(1);
      // It is asked for again only for a few seconds, which a busy machine may need to get here.
      if (typeof lease === "string") {
        expect(lease).toBe("E_STORE_UNAVAILABLE");
        return false;
      }
      await lease.verify();
      const found = (await a.list({ prefix: key })).map((record) => record.lock_id);
      expect(found).toEqual(lease.grants.map((record) => record.lock_id));
      return true;
    });
    await a.close();
    await proxy.close();
  });

  it("STORE-6: an acquire that was granted unheard and given up is taken back when the server answers again", async () => {
    const url = await newPostgresStore(server);
    const proxy = await openProxy(server.control?.socket ?? "");
    const name = databaseOf(url);
    const through = `postgres://postgres@127.0.0.1:${proxy.port}/${name}`;
    const a = await client(through);
    await (await a.acquire("warm")).release();
    proxy.muteServer();
    const acquiring = a.acquire("k", { ttl: "1h" }).catch((error: unknown) => error);
    await vi.waitUntil(
      async () => (await administer(url, "select 1 from holdfast.grants where resource = 'k'")).length === 1,
      OUTCOME,
    );
    await administer(url, `alter database ${name} allow_connections false`).catch(() => undefined);
    await administer(inDatabase(url, "postgres"), `alter database ${name} allow_connections false`);
    proxy.breakAll();
    expect(code(await acquiring)).toBe("E_STORE_UNAVAILABLE");
    await administer(inDatabase(url, "postgres"), `alter database ${name} allow_connections true`);
    await (await a.acquire("warm")).release();
    await vi.waitUntil(async () => (await a.list()).length === 0, OUTCOME);
    await a.close();
    await proxy.close();
  });

  // kills: postgres-other-store
  it("STORE-6: an empty server, or one with another store, is not taken for a free one", async () => {
    const url = await newPostgresStore(server);
    const a = await client(url);
    const lease = await a.acquire("k", { ttl: "1h" });
    const codes = async (): Promise<string[]> => {
      const asked = [a.acquire("k", { wait: 0 }), a.acquire("other"), a.inspect("k"), a.list(), lease.renew()];
      const answers = await Promise.allSettled<unknown>(asked);
      return answers.map((each) => (each.status === "rejected" ? code(each.reason) : "answered"));
    };
    const ALL_REFUSED = Array.from({ length: 5 }, () => "E_STORE_UNAVAILABLE");
    await administer(url, "alter schema holdfast rename to holdfast_lost");
    expect(await codes()).toEqual(ALL_REFUSED);
    expect(code(await openHoldfast({ store: url }).catch((error: unknown) => error))).toBe("E_STORE_UNAVAILABLE");
    await migrateStore(url);
    expect(await codes()).toEqual(ALL_REFUSED);
    await client(url, { owner: "agent:new" });
    expect(await codes()).toEqual(ALL_REFUSED);
    expect(lease.state).not.toBe("lost");
  });

  it("STORE-6: a server that takes no more connections is a coded error, soon", async () => {
    const url = await newPostgresStore(server);
    await administer(url, "create role hf_few login in role holdfast_user connection limit 0");
    const few = url.replace(/\/\/[^/@]*@/, "//hf_few@");
    expect(code(await openHoldfast({ store: few }).catch((error: unknown) => error))).toBe("E_STORE_UNAVAILABLE");
  });

  it("STALE-8: the server's clock decides: a client whose clock is an hour off takes nothing early and keeps nothing longer", async () => {
    const url = await newPostgresStore(server);
    const clock = createSystemClock();
    const off = (hours: number) => () => {
      const now = clock();
      return { ...now, wallMs: now.wallMs + hours * 3_600_000, bootMs: now.bootMs + hours * 3_600_000 };
    };
    const k = parseKey("k");
    const [early, right, late] = await Promise.all(
      [off(-1), off(0), off(1)].map((each) => openPostgresStore(url, {}, each)),
    );
    const request = (tokenHash: string, leaseMs: number) => acquireRequest("k", { tokenHash, leaseMs, detached: true });
    const first = await right?.locks.acquire(request("first", 3_000_000));
    if (first?.kind !== "granted") return expect.unreachable("it was free");
    expect((await late?.locks.acquire(request("late", 60_000)))?.kind).toBe("conflict");
    const refs = first.grants.map(({ resource, lockId }) => ({ resource, lockId, tokenHash: "first" }));
    await right?.locks.renew(refs, 1_000);
    await vi.waitUntil(async () => (await early?.locks.acquire(request("early", 60_000)))?.kind === "granted", OUTCOME);
    const seen = await late?.reader.inspect(k);
    const [grant] = seen?.grants ?? [];
    const aheadMs = (grant?.renewedAt.bootMs ?? 0) - off(1)().bootMs;
    expect(Math.abs(aheadMs)).toBeLessThan(60_000);
    for (const store of [early, right, late]) await store?.close();
  });
});
