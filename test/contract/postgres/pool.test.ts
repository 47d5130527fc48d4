import { beforeAll, describe, expect, it, vi } from "vitest";
import { client } from "../../fixtures/postgres/clients.fixture.js";
import { sharedServer, type TestServer } from "../../fixtures/postgres/server.fixture.js";
import { newPostgresStore } from "../../fixtures/postgres/stores.fixture.js";

/** What a process opens at most for its work. */
const CONNECTIONS = 10;
const OUTCOME = { timeout: 60_000, interval: 50 };

let server: TestServer;
beforeAll(async () => {
  server = await sharedServer();
}, 240_000);

describe("all connections of a process in use", { timeout: 240_000 }, () => {
  it("STORE-6: a request is a coded error, a waiter goes on waiting, and all goes on when there is one again", async () => {
    const store = (await newPostgresStore(server)).replace("connect_timeout=60", "connect_timeout=8");
    const [a, b] = await Promise.all([client(store), client(store, { owner: "agent:b" })]);
    const held = await a.acquire("k", { ttl: "10m" });
    let isIn = false;
    const waiting = b.acquire("k", { wait: "5m", ttl: "10m" }).then((lease) => {
      isIn = true;
      return lease;
    });
    await vi.waitUntil(async () => (await a.inspect("k")).waiters.length === 1, OUTCOME);
    const keys = Array.from({ length: CONNECTIONS }, (_, at) => `busy-${at}`);
    const leases = await Promise.all(keys.map((key) => a.acquire(key, { ttl: "10m" })));
    let entered = 0;
    let letGo = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const transactions = leases.map((lease) =>
      lease.transaction(
        async (sql) => {
          await sql.query("select 1");
          entered += 1;
          await gate;
        },
        { maxTransactionMs: "2m" },
      ),
    );
    await vi.waitUntil(() => entered === CONNECTIONS, OUTCOME);
    const askedAt = performance.now();
    await expect(a.acquire("free", { wait: "1s" })).rejects.toMatchObject({
      code: "E_STORE_UNAVAILABLE",
      message: expect.stringContaining(`all ${CONNECTIONS} connections of this process are in use`),
    });
    expect(performance.now() - askedAt, "as long as the URL says").toBeGreaterThan(7_900);
    expect(isIn).toBe(false);
    letGo();
    await Promise.all(transactions);
    await held.release();
    await (await waiting).release();
    await (await a.acquire("free")).release();
    for (const lease of leases) await lease.release();
    await vi.waitUntil(async () => (await a.list()).length === 0, OUTCOME);
  });
});
