import pg from "pg";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { migrateStore } from "../../../src/index.js";
import { client } from "../../fixtures/postgres/clients.fixture.js";
import { administer, sharedServer, type TestServer } from "../../fixtures/postgres/server.fixture.js";
import { newPostgresStore } from "../../fixtures/postgres/stores.fixture.js";
import { openPooler, type Pooler, pgbouncer } from "./pooler.fixture.js";

const OUTCOME = { timeout: 60_000, interval: 50 };
const BACKENDS = 3;

const server: TestServer = await sharedServer();
const canPool = pgbouncer !== null && server.control !== null;
let pooler: Pooler;

beforeAll(async () => {
  if (canPool) pooler = await openPooler(server.control?.socket ?? "", BACKENDS);
}, 240_000);
afterAll(() => pooler?.close());

/** What each backend of the pool listens to: all of them are held at once. */
async function channelsOfBackends(url: string): Promise<Map<number, readonly string[]>> {
  const clients = Array.from({ length: BACKENDS }, () => new pg.Client({ connectionString: url }));
  const channels = new Map<number, readonly string[]>();
  try {
    for (const each of clients) {
      await each.connect();
      await each.query("begin");
      const { rows } = await each.query(
        "select pg_backend_pid() as pid, array(select pg_listening_channels()) as list",
      );
      channels.set(rows[0].pid, rows[0].list);
    }
    return channels;
  } finally {
    for (const each of clients) await each.end();
  }
}

const MISSING = pgbouncer === null ? "pgbouncer" : "a PostgreSQL server that the tests start";

describe.skipIf(!canPool)(`behind a pooler in transaction mode (needs ${MISSING})`, { timeout: 240_000 }, () => {
  it("STORE-4: locks, lines, leases and fenced transactions hold, whatever backend a statement gets", async () => {
    const direct = await newPostgresStore(server);
    const url = pooler.through(direct);
    await administer(direct, "create table public.counter as select 0 as n");
    const clients = await Promise.all(["a", "b", "c", "d"].map((name) => client(url, { owner: `agent:${name}` })));
    const tokens: number[] = [];
    await Promise.all(
      clients.map(async (holdfast) => {
        for (let round = 0; round < 3; round += 1)
          await holdfast.withLock("counter", { wait: "60s", ttl: "60s" }, async (lease) => {
            await lease.transaction(async (sql) => {
              const [row] = await sql.query("select n from public.counter");
              await sql.query("update public.counter set n = $1", [Number(row?.n) + 1]);
            });
            await lease.renew();
            tokens.push(lease.fencingToken);
          });
      }),
    );
    expect(await administer(direct, "select n from public.counter")).toEqual([{ n: 12 }]);
    expect(tokens).toEqual([...new Set(tokens)].sort((one, other) => one - other));
    expect(await clients[0]?.list()).toEqual([]);
    expect((await clients[0]?.audit.verify())?.ok).toBe(true);
  });

  // kills: postgres-pooler
  it("LOCK-12: waiters poll, and no backend is left listening for those who are gone", async () => {
    const url = pooler.through(await newPostgresStore(server));
    const [a, b] = [await client(url), await client(url, { owner: "agent:b" })];
    const first = await a.acquire("k", { ttl: "60s" });
    const waiting = b.acquire("k", { wait: "60s" });
    await vi.waitUntil(async () => (await a.inspect("k")).waiters.length === 1, OUTCOME);
    await first.release();
    const next = await waiting;
    expect(next.fencingToken).toBeGreaterThan(first.fencingToken);
    const channels = await channelsOfBackends(url);
    expect([...channels.values()]).toEqual(Array.from({ length: BACKENDS }, () => []));
  });

  it("STORE-4: more clients than backends wait for their turn at the pooler, and none hangs", async () => {
    const url = pooler.through(await newPostgresStore(server));
    const holdfast = await client(url);
    const leases = await Promise.all(Array.from({ length: 4 * BACKENDS }, (_, at) => holdfast.acquire(`k${at}`)));
    expect(await holdfast.list()).toHaveLength(leases.length);
    await Promise.all(leases.map((lease) => lease.release()));
    expect(await holdfast.list()).toEqual([]);
  });

  it("STORE-5: migrates through it", async () => {
    const url = pooler.through(await newPostgresStore(server));
    await administer(url, "drop schema holdfast cascade");
    await Promise.all([migrateStore(url), migrateStore(url)]);
    await (await (await client(url)).acquire("k")).release();
  });
});
