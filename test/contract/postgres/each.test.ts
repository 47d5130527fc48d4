/** Several clients of one process, each on a tree of its own, whose takes and releases share statements. */
import pg from "pg";
import { beforeAll, describe, expect, it, vi } from "vitest";
import type { Holdfast } from "../../../src/index.js";
import { digestOf } from "../../../src/store/postgres/locks/token-digest.js";
import { client } from "../../fixtures/postgres/clients.fixture.js";
import { openProxy } from "../../fixtures/postgres/proxy.fixture.js";
import { administer, databaseOf, sharedServer, type TestServer } from "../../fixtures/postgres/server.fixture.js";
import { newPostgresStore } from "../../fixtures/postgres/stores.fixture.js";
import { comesOff } from "../../fixtures/succeeds-once.fixture.js";

const OUTCOME = { timeout: 60_000, interval: 20 };
const KEYS = Array.from({ length: 9 }, (_, at) => `k${at}`);
const MIDDLE = KEYS[4] ?? "";
const OTHERS = KEYS.filter((key) => key !== MIDDLE);

vi.setConfig({ testTimeout: 240_000 });

let server: TestServer;
beforeAll(async () => {
  server = await sharedServer();
}, 240_000);

const patient = (store: string, owner = "agent:a"): Promise<Holdfast> =>
  client(store, { owner, ttl: "10m", wait: "3m" });

/** A store in which the trees are there already. */
async function scene(): Promise<{ readonly url: string; readonly a: Holdfast }> {
  const url = await newPostgresStore(server);
  const a = await patient(url);
  await (await a.acquire(KEYS)).release();
  return { url, a };
}

/** How many transactions made what is held now. */
const steps = async (url: string): Promise<number> =>
  (await administer(url, "select distinct xmin::text from holdfast.grants")).length;

/** Done for these, within a time in which the one that is held up was not. */
const held = async (url: string): Promise<readonly string[]> =>
  (await administer<{ resource: string }>(url, "select resource from holdfast.grants order by 1")).map(
    ({ resource }) => resource,
  );

/** A transaction of somebody else's that keeps a row to itself. */
async function locking(url: string, statement: string): Promise<AsyncDisposable> {
  const session = new pg.Client({ connectionString: url });
  await session.connect();
  await session.query(`begin; ${statement}`);
  return { [Symbol.asyncDispose]: () => session.end() };
}

describe("takes and releases that share a step", () => {
  it("each has its own grant, number and entry, as if it had come alone", async () => {
    const { url, a } = await scene();
    const before = (await a.audit.list()).length;
    const leases = await Promise.all(KEYS.map((key) => a.acquire(key)));
    expect(await steps(url)).toBeLessThan(KEYS.length);
    for (const [at, lease] of leases.entries()) {
      await lease.verify();
      expect(lease.keys).toEqual([KEYS[at]]);
    }
    const listed = (await a.list()).map((each) => each.lock_id);
    expect(listed).toEqual(leases.flatMap((lease) => lease.grants.map((each) => each.lock_id)));
    const again = await Promise.allSettled(KEYS.map((key) => a.acquire(key, { wait: 0 })));
    expect(again.map((each) => each.status === "rejected" && each.reason.code)).toEqual(
      KEYS.map(() => "E_LOCK_CONFLICT"),
    );
    await Promise.all(leases.map((lease) => lease.release()));
    expect(await held(url)).toEqual([]);
    const entries = (await a.audit.list()).slice(before);
    expect(entries.map(({ event }) => event).sort()).toEqual([
      ...KEYS.map(() => "granted"),
      ...KEYS.map(() => "released"),
    ]);
    const next = await Promise.all(KEYS.map((key) => a.acquire(key)));
    for (const [at, lease] of next.entries()) expect(lease.fencingToken).toBeGreaterThan(leases[at]?.fencingToken ?? 0);
    expect((await a.audit.verify()).ok).toBe(true);
  });

  it("who has to wait stands in line, and holds up nobody", async () => {
    const { url, a } = await scene();
    const b = await patient(url, "agent:b");
    const inTheWay = await b.acquire(MIDDLE);
    const taking = KEYS.map((key) => a.acquire(key));
    await Promise.all(taking.filter((_, at) => KEYS[at] !== MIDDLE));
    await vi.waitUntil(async () => (await b.inspect(MIDDLE)).waiters.length === 1, OUTCOME);
    await inTheWay.release();
    const leases = await Promise.all(taking);
    expect(await held(url)).toEqual(KEYS);
    // Somebody waits for one of them now: it goes from hand to hand.
    const waiting = b.acquire(MIDDLE);
    await vi.waitUntil(async () => (await a.inspect(MIDDLE)).waiters.length === 1, OUTCOME);
    await Promise.all(leases.map((lease) => lease.release()));
    await waiting;
    expect(await held(url)).toEqual([MIDDLE]);
    expect((await a.audit.verify()).ok).toBe(true);
  });

  // kills: postgres-each-guard
  it("a tree whose guard another has holds up its own key alone", async () => {
    const { url, a } = await scene();
    const guard = await locking(url, `select from holdfast.trees where tree = '${MIDDLE}' for no key update`);
    const taking = KEYS.map((key) => a.acquire(key));
    await Promise.all(taking.filter((_, at) => KEYS[at] !== MIDDLE));
    expect(await held(url)).toEqual(OTHERS);
    await guard[Symbol.asyncDispose]();
    await Promise.all((await Promise.all(taking)).map((lease) => lease.release()));
    expect(await held(url)).toEqual([]);
  });

  // kills: postgres-each-fenced
  it("a grant that a fenced transaction keeps is released when that is over, the others at once", async () => {
    const { url, a } = await scene();
    const leases = await Promise.all(KEYS.map((key) => a.acquire(key)));
    const fenced = await locking(url, `select from holdfast.grants where resource = '${MIDDLE}' for key share`);
    const releasing = leases.map((lease) => lease.release());
    await Promise.all(releasing.filter((_, at) => KEYS[at] !== MIDDLE));
    expect(await held(url)).toEqual([MIDDLE]);
    await fenced[Symbol.asyncDispose]();
    await Promise.all(releasing);
    expect(await held(url)).toEqual([]);
  });

  // kills: postgres-each-again
  it("STORE-6: when the answer is lost each is found again by its id, and none is granted or released twice", async () => {
    const { url } = await scene();
    const proxy = await openProxy(server.control?.socket ?? "");
    const a = await patient(`postgres://postgres@127.0.0.1:${proxy.port}/${databaseOf(url)}`);
    const before = (await a.audit.list()).length;
    const cutOnce = async (isDone: () => Promise<boolean>): Promise<void> => {
      await vi.waitUntil(isDone, OUTCOME);
      proxy.breakAll();
    };
    await comesOff(async () => {
      // Connections are there, and two of the calls are under way before the others go.
      await Promise.all((await Promise.all(KEYS.map((key) => a.acquire(key)))).map((lease) => lease.release()));
      const grantsBefore = (await a.audit.list({ event: "granted" })).length;
      proxy.muteServer();
      const taking = Promise.allSettled(KEYS.map((key) => a.acquire(key, { wait: 0 })));
      await cutOnce(async () => (await held(url)).length === KEYS.length);
      const taken = await taking;
      expect(await a.audit.list({ event: "granted" })).toHaveLength(grantsBefore + KEYS.length);
      const leases = taken.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
      for (const each of taken) if (each.status === "rejected") expect(each.reason.code).toBe("E_STORE_UNAVAILABLE");
      for (const lease of leases) await lease.verify();
      proxy.muteServer();
      const releasing = Promise.allSettled(leases.map((lease) => lease.release()));
      await cutOnce(async () => (await held(url)).length === KEYS.length - leases.length);
      const released = await releasing;
      for (const each of released) if (each.status === "rejected") expect(each.reason.code).toBe("E_STORE_UNAVAILABLE");
      const isWhole = [...taken, ...released].every((each) => each.status === "fulfilled");
      // Who was not told in time gave up: what it has goes back with the next contact.
      if (!isWhole)
        await vi.waitUntil(async () => {
          await (await a.acquire("x")).release();
          return (await held(url)).length === 0;
        }, OUTCOME);
      return isWhole;
    });
    const events = (await a.audit.list()).slice(before).map(({ event }) => event);
    expect(events.filter((event) => event === "released")).toHaveLength(
      events.filter((event) => event === "granted").length,
    );
    expect((await a.audit.verify()).ok).toBe(true);
    await a.close();
    await proxy.close();
  });

  // kills: postgres-each-line
  it("leaves out what is not simple, and what is not as it should be, and does the others", async () => {
    const { url } = await scene();
    const [row] = await administer<{ store: string }>(url, "select store_id::text as store from holdfast.store");
    const store = row?.store ?? "";
    const token = digestOf("t".repeat(43));
    const id = (at: number): string => `00000000-0000-8000-8000-00000000000${at}`;
    const take = async (
      keys: readonly string[],
      tokens: readonly string[],
      from = store,
    ): Promise<readonly string[]> => {
      const ids = keys.map((_, at) => id(at));
      const [answer] = await administer<{ told: Record<string, unknown> }>(
        url,
        `select holdfast.take_each('{${keys}}', '{${tokens}}', '{${ids}}', 'agent:a', 'write', 60000, null, 'h', 'n',
           '{"kind":"none"}', false, '${from}') as told`,
      );
      return Object.keys(answer?.told ?? {});
    };
    const other = "00000000-0000-4000-8000-000000000000";
    expect(await take(["k0"], [token], other), "another store").toEqual([]);
    expect(await take(["k0", "k1/../x", "k2"], [token, token, "short"]), "no key, no token").toEqual([id(0)]);
    expect(await take(["k0/below", "k1/below", "new"], [token, token, token]), "held, free, unknown").toEqual([id(1)]);
    expect(await take(["k1", "k3"], [token, token]), "something below it is held").toEqual([id(1)]);
    await administer(url, "update holdfast.trees set publishing = 1 where tree = 'k4'");
    await administer(url, "update holdfast.store set profile_prefixes = '{k5}', profile_names = '{strict}'");
    expect(await take(["k4", "k5", "k6"], [token, token, token]), "a publish was left, strict").toEqual([id(2)]);
    await expect(take(["k7/a", "k7/b"], [token, token]), "one tree twice").rejects.toThrow("duplicate key");
    expect(await held(url)).toEqual(["k0", "k1/below", "k3", "k6"]);
    const release = async (keys: readonly string[], tokens: readonly string[], ids: readonly string[]) => {
      const [answer] = await administer<{ told: readonly string[] }>(
        url,
        `select holdfast.release_each('{${keys}}', '{${tokens}}', '{${ids}}', 'agent:a', 'h', '${store}') as told`,
      );
      return answer?.told;
    };
    const ofAnother = digestOf("u".repeat(43));
    expect(
      await release(["k0", "k3", "k6"], [token, ofAnother, token], [id(0), id(1), id(1)]),
      "another's token, another id",
    ).toEqual([id(0)]);
    const b = await patient(url, "agent:b");
    b.acquire("k6").catch(() => undefined);
    await vi.waitUntil(async () => (await b.inspect("k6")).waiters.length === 1, OUTCOME);
    expect(await release(["k3", "k6"], [token, token], [id(1), id(2)]), "somebody waits for it").toEqual([id(1)]);
    expect(await held(url)).toEqual(["k1/below", "k6"]);
  });
});
