import assert from "node:assert/strict";
import { isFree, LONG, refusal, shorten, undisturbed } from "../expect.fixture.js";
import { servedInOrder } from "../queue.fixture.js";
import type { Chapter } from "../test-store.fixture.js";

/** Up to n at once. */
export const semaphores: Chapter = {
  async "LOCK-16: a permit's number is good for its own key and for nothing below it"(bench) {
    const [a, b] = await bench.two();
    const permit = await a.acquire("pool", { permits: 2 });
    assert.equal((await b.verify("pool", permit.fencingToken)).resource, "pool");
    await refusal(b.verify("pool/place", permit.fencingToken), "E_LOCK_NOT_HELD");
  },

  async "LOCK-16: as many as there are permits get in, each with a token of its own"(bench) {
    const clients = await bench.many(4);
    const [a, b, c, d] = clients;
    assert.ok(a && b && c && d);
    const leases = await Promise.all([a, b, c].map((client) => client.acquire("pool", { permits: 3, wait: 0 })));
    assert.equal(new Set(leases.map((lease) => lease.fencingToken)).size, 3);
    await refusal(d.acquire("pool", { permits: 3, wait: 0 }), "E_LOCK_CONFLICT");
    for (const lease of leases) await lease.verify();
    await leases[1]?.release();
    assert.equal(await isFree(d, "pool", { permits: 3 }), true);
  },

  async "LOCK-16: the status of the key tells how many permits there are and how many are taken, and nobody else's does"(
    bench,
  ) {
    const [a, b] = await bench.two();
    const permits = async (key: string): Promise<unknown> => (await b.inspect(key)).permits;
    const first = await a.acquire("pool", { permits: 3 });
    assert.deepEqual(await permits("pool"), { total: 3, taken: 1 });
    const second = await b.acquire("pool", { permits: 3 });
    assert.deepEqual(await permits("pool"), { total: 3, taken: 2 });
    const below = await a.acquire("pool/place");
    assert.deepEqual([await permits("pool"), await permits("pool/place")], [{ total: 3, taken: 2 }, null]);
    for (const lease of [below, second, first]) await lease.release();
    assert.equal(await permits("pool"), null);
  },

  async "LOCK-16: waiters take turns in line"(bench) {
    const [a, ...waiters] = await bench.many(4);
    assert.ok(a);
    await undisturbed(async (pool) => {
      const held = [await a.acquire(pool, { permits: 2 }), await a.acquire(pool, { permits: 2 })] as const;
      await refusal(a.acquire(pool, { permits: 2, wait: 0 }), "E_LOCK_CONFLICT");
      const requests = waiters.map((client) => () => client.acquire(pool, { permits: 2 }));
      const verdict = await servedInOrder(a, pool, held[0], requests);
      await held[1].release();
      return verdict;
    });
  },

  async "LOCK-16: another number is refused, naming the one on record; so is a plain lock"(bench) {
    const [a, b] = await bench.two();
    const permit = await a.acquire("pool", { permits: 3 });
    for (const permits of [1, 2, 4]) {
      const error = await refusal(b.acquire("pool", { permits }), "E_INVALID_ARGUMENT");
      assert.match(error.message, /\b3 permits/);
      assert.equal(error.details.field, "permits");
    }
    await refusal(b.acquire("pool", { mode: "read" }), "E_INVALID_ARGUMENT");
    await refusal(permit.acquire("pool", { permits: 4 }), "E_INVALID_ARGUMENT");
    await refusal(permit.acquire("pool"), "E_INVALID_ARGUMENT");
    await permit.release();
    const plain = await a.acquire("pool", { mode: "read" });
    await refusal(b.acquire("pool", { permits: 3 }), "E_INVALID_ARGUMENT");
    await plain.release();
  },

  async "LOCK-16: a permit covers no subtree, but keeps out whoever wants all above it"(bench) {
    const [a, b] = await bench.two();
    const permit = await a.acquire("t/pool", { permits: 1 });
    assert.equal(await isFree(b, "t/pool/below"), true);
    for (const mode of ["read", "upgradeable", "write"] as const)
      assert.equal(await isFree(b, "t", { mode }), false, mode);
    const below = await permit.acquire("t/pool/below", { wait: 0 });
    assert.ok(below.fencingToken > permit.fencingToken, "nothing nests in a permit");
    await permit.release();
    await below.release();
    const above = await b.acquire("t", { mode: "read" });
    assert.equal(await isFree(a, "t/pool", { permits: 1 }), false);
    await above.release();
  },

  async "LOCK-16: a permit never commits, and has no mode to change"(bench) {
    const [a, b] = await bench.two();
    const permit = await a.acquire("pool", { permits: 1 });
    await refusal(
      permit.commit(() => assert.fail("it wrote")),
      "E_LOCK_NOT_HELD",
    );
    await refusal(permit.downgrade(), "E_INVALID_ARGUMENT");
    assert.equal(permit.state, "held");
    assert.equal(await isFree(b, "pool", { permits: 1 }), false);
  },

  async "LOCK-16: a client does not wait for its own place"(bench) {
    const [a, b] = await bench.two();
    const one = await a.acquire("pool", { permits: 2 });
    const two = await one.acquire("pool", { permits: 2, wait: 0 });
    assert.notEqual(one.fencingToken, two.fencingToken);
    await refusal(two.acquire("pool", { permits: 2 }), "E_LOCK_ORDER");
    assert.equal(await isFree(b, "pool", { permits: 2 }), false);
  },

  async "LOCK-16: the place of a holder that is gone is taken when none is left, a live one never"(bench) {
    const [a, b] = await bench.two();
    const live = await a.acquire("pool", { permits: 2 });
    const lapsed = await a.acquire("pool", { permits: 2, ...LONG });
    assert.equal(await isFree(b, "pool", { permits: 2 }), false);
    await shorten(lapsed);
    const next = await b.acquire("pool", { permits: 2 });
    assert.equal(lapsed.state, "lost");
    await live.verify();
    await next.verify();
    assert.equal(await isFree(b, "pool", { permits: 2 }), false);
    assert.equal((await b.audit.list({ event: "stolen" })).length, 1);
  },
};
