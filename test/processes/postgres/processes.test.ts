import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { type Holdfast, openHoldfast } from "../../../dist/index.js";
import { Client, type StartOptions } from "../../fixtures/client/client-process.fixture.js";
import { isAfterLeaseOf, PATIENTLY } from "../../fixtures/client/processes.fixture.js";
import { administer, sharedServer, type TestServer } from "../../fixtures/postgres/server.fixture.js";
import { newPostgresStore } from "../../fixtures/postgres/stores.fixture.js";

const OUTCOME = { timeout: 60_000, interval: 50 };

let server: TestServer;
let url: string;
let watcher: Holdfast;
let dir: string;
const clients: Client[] = [];

beforeAll(async () => {
  server = await sharedServer();
  dir = mkdtempSync(join(tmpdir(), "holdfast-postgres-processes-"));
}, 240_000);
afterAll(() => rmSync(dir, { recursive: true, force: true }));
beforeEach(async () => {
  url = await newPostgresStore(server);
  watcher = await openHoldfast({ store: url, owner: "user:watcher" });
});
afterEach(async () => {
  for (const client of clients.splice(0)) await client.abandon();
  await watcher.close();
});

async function start(owner: string, options: StartOptions = {}): Promise<Client> {
  const client = await Client.start({ owner, ...options, store: url });
  clients.push(client);
  return client;
}

describe("processes on PostgreSQL", PATIENTLY, () => {
  it("STALE-2: a killed holder's lock is free when its lease is over, not before", async () => {
    const [a, b] = [await start("agent:a"), await start("agent:b")];
    const lease = await a.acquire("k", { ttl: 3_000 });
    await a.kill();
    const taken = await b.acquire("k", { wait: 30_000 });
    expect(taken.record).toSatisfy(isAfterLeaseOf(lease.record));
    expect(taken.fencingToken).toBeGreaterThan(lease.fencingToken);
  });

  it("FENCE-2: a holder stopped past its lease commits nothing when it goes on", async () => {
    const [a, b] = [await start("agent:a"), await start("agent:b")];
    const file = join(dir, "stopped");
    writeFileSync(file, "before");
    const lease = await a.acquire("k", { ttl: 2_000 });
    await a.stop();
    const taken = await b.acquire("k", { wait: 30_000 });
    await taken.commit(file, "new holder");
    a.continue();
    await expect(lease.commit(file, "old holder")).rejects.toMatchObject({
      code: expect.stringMatching(/E_LOCK_EXPIRED|E_LOCK_NOT_HELD|E_FENCING_MISMATCH/),
    });
    await expect(a.call("commitBorrowed", "k", lease.token, file, "old holder")).rejects.toMatchObject({
      code: "E_LOCK_NOT_HELD",
    });
    expect(readFileSync(file, "utf8")).toBe("new holder");
  });

  it("LOCK-5: a blocked event loop loses nothing: the heart beats beside it", async () => {
    const a = await start("agent:a", { maxStall: 60_000 });
    const lease = await a.acquireAndBlock("k", { ttl: 9_000 }, 12_000);
    expect((await lease.look()).state).toBe("held");
    const [record] = await watcher.list();
    expect(record?.fencing_token).toBe(lease.fencingToken);
    expect(await watcher.audit.list({ event: "stolen" })).toEqual([]);
  });

  it("LOCK-12: processes take turns, one at a time, and each gets in", async () => {
    const crowd = await Promise.all(["a", "b", "c", "d"].map((name) => start(`agent:${name}`)));
    const sections = await Promise.all(crowd.map((client) => client.loop("k", { times: 15, holdMs: 1, wait: 60_000 })));
    const all = sections.flat().sort((one, other) => one.from - other.from);
    expect(all).toHaveLength(60);
    for (const [at, section] of all.entries()) {
      const before = all[at - 1];
      if (before === undefined) continue;
      expect(section.from).toBeGreaterThanOrEqual(before.to);
      expect(section.fencingToken).toBeGreaterThan(before.fencingToken);
    }
    expect((await watcher.audit.verify()).ok).toBe(true);
  });

  it("LOCK-12: a waiter is woken by NOTIFY, over one listening connection a process", async () => {
    const a = await start("agent:a");
    const first = await a.acquire("x");
    const second = await a.acquire("y");
    const b = await start("agent:b");
    const waiting = [
      b.acquire("x", { wait: 60_000 }),
      b.acquire("y", { wait: 60_000 }),
      b.acquire("x/z", { wait: 60_000 }),
    ];
    await vi.waitUntil(async () => (await watcher.inspect("x")).waiters.length === 2, OUTCOME);
    const listeners =
      "select pid from pg_stat_activity where application_name = 'holdfast wake-ups' and datname = current_database()";
    const only = async (): Promise<unknown> => {
      const pids = (await administer(url, listeners)).map(({ pid }) => pid);
      return pids.length === 1 ? pids[0] : undefined;
    };
    await vi.waitUntil(only, OUTCOME);
    const cut = await only();
    await administer(url, `select pg_terminate_backend(pid) from (${listeners}) l`);
    // The one that was cut off is seen for a moment yet.
    await vi.waitUntil(async () => ![cut, undefined].includes(await only()), OUTCOME);
    await first.release();
    await second.release();
    await (await waiting[0])?.release();
    await Promise.all(waiting);
    await sleep(0);
    expect(await administer(url, listeners)).toHaveLength(1);
  });

  it("LOCK-12: a program that has waited and closed its Holdfast ends by itself", async () => {
    const a = await start("agent:a");
    const lease = await a.acquire("k");
    const b = await start("agent:b");
    const waiting = b.acquire("k", { wait: 60_000 });
    await vi.waitUntil(async () => (await watcher.inspect("k")).waiters.length === 1, OUTCOME);
    await lease.release();
    await (await waiting).release();
    await b.exit();
  });
});
