import assert from "node:assert/strict";
import type { Holdfast, Lease } from "../../../src/index.js";
import { isFree, LONG, SHORT, untilExpired } from "../expect.fixture.js";
import type { Chapter } from "../test-store.fixture.js";

/** Two names of one thing, in two trees, and a key of the same request that is no name of it. */
const NAMES = ["t/thing", "path/a/b"];
const KEYS = [...NAMES, "path/other"];
const METADATA = { note: "kept", one_thing: [NAMES] };

async function hold(client: Holdfast, how: typeof LONG | typeof SHORT, keys = KEYS): Promise<Lease> {
  return await client.acquire(keys, { ...how, metadata: METADATA });
}

async function heldKeys(client: Holdfast): Promise<readonly string[]> {
  return (await client.list()).map(({ resource }) => resource);
}

/** One thing under several names: what one request acquired as one thing ends as one thing, in one step. */
export const oneThing: Chapter = {
  // kills: one-thing (memory), one-thing-sql (postgres)
  async "a break of one name ends the other, and no other key of the request"(bench) {
    for (const broken of NAMES) {
      const [a, b] = await bench.two({ owner: "user:two" });
      const lease = await hold(a, LONG);
      const ended = await b.break(broken, { reason: "needed" });
      assert.deepEqual(new Set(ended.map(({ resource }) => resource)), new Set(NAMES));
      assert.deepEqual(await heldKeys(b), ["path/other"]);
      const entries = await b.audit.recent({ event: "broken", limit: 2 });
      assert.deepEqual(new Set(entries.map(({ resource }) => resource)), new Set(NAMES));
      const other = entries.find(({ resource }) => resource !== broken);
      assert.equal(other?.details.reason, "another name of it was ended");
      assert.ok((other?.details.new_fencing_token as number) > (other?.fencing_token ?? 0), "a higher token");
      assert.deepEqual((other?.details.previous as { metadata?: unknown } | undefined)?.metadata, METADATA);
      assert.equal((await b.audit.verify()).ok, true);
      await lease.release();
    }
  },

  async "a recovery of one name ends the other, which the next requester finds free"(bench) {
    const [a, b] = await bench.two();
    await hold(a, SHORT);
    await untilExpired(b, "path/a/b");
    await b.recover("t");
    assert.deepEqual(await heldKeys(b), ["path/other"]);
    const entries = await b.audit.recent({ event: "recovered", limit: 5 });
    assert.deepEqual(new Set(entries.map(({ resource }) => resource)), new Set(NAMES));
  },

  // kills: one-thing-stolen-sql (postgres)
  async "an acquire that steals one name ends the other in its step"(bench) {
    const [a, b] = await bench.two();
    await hold(a, SHORT);
    await untilExpired(b, "t/thing");
    const lease = await b.acquire("path/a", { wait: 0 });
    assert.deepEqual(await heldKeys(b), ["path/a", "path/other"]);
    const stolen = await b.audit.recent({ event: "stolen", limit: 5 });
    assert.deepEqual(new Set(stolen.map(({ resource }) => resource)), new Set(NAMES));
    await lease.release();
  },

  async "a waiter for the other name is served"(bench) {
    const [a, b] = await bench.two({ owner: "user:two" });
    const c = await bench.client();
    await hold(a, LONG, NAMES);
    const waiting = c.acquire("path/a/b");
    while ((await b.inspect("path/a/b")).waiters.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await b.break("t/thing", { reason: "needed" });
    await (await waiting).release();
  },

  async "a name that is held under another token stays"(bench) {
    const [a, b] = await bench.two({ owner: "user:two" });
    await using victim = await b.acquire("path/a/b", LONG);
    await a.acquire("t/thing", { ...LONG, metadata: METADATA });
    await b.break("t/thing", { reason: "needed" });
    assert.deepEqual(await heldKeys(b), ["path/a/b"]);
    await victim.verify();
    for (const one_thing of ["path/a/b", ["path/a/b"], [["t/odd", 7]], [null], { "t/odd": 1 }]) {
      await a.acquire("t/odd", { ...LONG, metadata: { one_thing } });
      await b.break("t/odd", { reason: "odd metadata" });
    }
    assert.equal(await isFree(b, "t"), true);
  },

  async "what nests in the other name ends with it"(bench) {
    const [a, b] = await bench.two({ owner: "user:two" });
    const lease = await a.acquire(NAMES, { ttl: "1h", metadata: METADATA });
    await lease.acquire("path/a/b/c");
    await b.break("t/thing", { reason: "needed" });
    assert.deepEqual(await heldKeys(b), []);
  },
};
