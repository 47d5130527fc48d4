/**
 * One backend that is killed takes all others with it: the same server goes on, without what it had not written to the disk,
 * and gives out numbers again.
 */
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { digestOf } from "../../../src/store/postgres/locks/token-digest.js";
import { client } from "../../fixtures/postgres/clients.fixture.js";
import { administer, ownServer, type TestServer } from "../../fixtures/postgres/server.fixture.js";
import { newPostgresStore } from "../../fixtures/postgres/stores.fixture.js";

const LIMIT = 240_000;

let server: TestServer;
beforeAll(() => {
  server = ownServer({ isDurable: true });
}, LIMIT);
afterAll(() => server.control?.crash());

async function connected(url: string): Promise<pg.Client> {
  for (let times = 0; ; times += 1) {
    const session = new pg.Client({ connectionString: url });
    session.on("error", () => undefined);
    try {
      await session.connect();
      onTestFinished(() => session.end().catch(() => undefined));
      return session;
    } catch (error) {
      if (times > 600) throw error;
      await sleep(50);
    }
  }
}

/** The value of a row of one. */
async function told<T>(session: pg.Client, text: string, values: readonly unknown[] = []): Promise<T> {
  const { rows } = await session.query(text, [...values]);
  return Object.values(rows[0] ?? {})[0] as T;
}

/** Resolves when the server has begun anew. */
async function killBackend(url: string): Promise<void> {
  const victim = await connected(url);
  const pid = await told<number>(victim, "select pg_backend_pid()");
  const isGone = new Promise((resolve) => victim.once("end", resolve));
  process.kill(pid, "SIGKILL");
  await isGone;
  await connected(url);
}

describe("a backend that is killed", { timeout: LIMIT }, () => {
  // kills: outcome-of-another-life
  it("FENCE-3: a transaction is not taken for committed because another was given its number", async () => {
    const url = await newPostgresStore(server);
    const holdfast = await client(url);
    const lease = await holdfast.acquire("k", { ttl: "10m" });
    const session = await connected(url);
    await session.query("begin");
    const [{ resource, lockId, tokenHash } = fail()] = lease.held;
    const id = await told<string>(session, "select holdfast.assert_fence(array[$1], array[$2], array[$3])", [
      resource,
      digestOf(tokenHash),
      lockId,
    ]);
    const number = Number(id.split("@")[0]);
    await killBackend(url);

    const after = await connected(url);
    const outcome = () => told<string | null>(after, "select holdfast.transaction_outcome($1)", [id]);
    const status = (): Promise<string> => told(after, "select pg_xact_status($1::xid8)", [String(number)]);
    expect(await outcome()).toBe("aborted");
    for (let last = 0; last < number; ) last = Number(await told(after, "select pg_current_xact_id()::text"));
    expect([number, await status()]).toEqual([number, "committed"]);
    expect(await outcome()).toBeNull();
    await lease.release();
  });

  // kills: epoch-without-life, flush-still-there
  it("STORE-6: what was seen before it was on the disk is not said to be there", async () => {
    const url = await newPostgresStore(server);
    await administer(url, "alter system set wal_writer_delay = '10s'", "select pg_reload_conf()");
    const session = await connected(url);
    const { lease_token: token } = await told<{ lease_token: string }>(
      session,
      "select holdfast.acquire('{k}', 'agent:a', lease_ms => 600000)",
    );
    await session.query("select holdfast.acquire('{k}', 'agent:b', wait_ms => 60000)");
    const lockId = await told<string>(session, "select lock_id from holdfast.grants");
    const epoch = await told<string>(session, "select holdfast.hand_over('{k}', array[$1], 'agent:a', array[$2])", [
      token,
      lockId,
    ]);
    expect(epoch).toEqual(expect.any(String));
    expect(await told(session, "select count(*)::int from holdfast.grants")).toBe(0);
    await killBackend(url);

    const after = await connected(url);
    expect(await told(after, "select count(*)::int from holdfast.grants")).toBe(1);
    expect(await told(after, "select holdfast.flush($1)", [epoch])).toBe(false);
    expect(await told(after, "select holdfast.flush(null, '{k}', array[$1])", [lockId])).toBe(false);
    expect(await told(after, "select holdfast.flush(null, '{k}', '{another}')")).toBe(true);
  });

  it("FENCE-1: numbers go on behind all that may have been given out", async () => {
    const url = await newPostgresStore(server);
    const session = await connected(url);
    const acquire = "select (holdfast.acquire(array[$1], 'agent:a') -> 'grants' -> 0 ->> 'fencing_token')::float8";
    await told(session, acquire, ["k/first"]);
    await session.query("set synchronous_commit = off");
    const lost = await told<number>(session, acquire, ["k/second"]);
    await killBackend(url);
    const after = await connected(url);
    expect(await told<number>(after, acquire, ["k/third"])).toBeGreaterThan(lost);
  });
});

function fail(): never {
  throw new Error("a lease has a grant");
}
