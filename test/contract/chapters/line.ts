import assert from "node:assert/strict";
import type { Lease } from "../../../src/index.js";
import { contentionOf, isFree, refusal, undisturbed, until, untilWaiting } from "../expect.fixture.js";
import { servedInOrder, whileWaiting } from "../queue.fixture.js";
import type { Chapter } from "../test-store.fixture.js";

/** Waiting: bounded, first come first served, and nothing left behind. */
export const line: Chapter = {
  async "LOCK-12: without waiting the answer is E_LOCK_CONFLICT, and no ticket"(bench) {
    const [a, b] = await bench.two();
    const lease = await a.acquire("k");
    await refusal(b.acquire("k", { wait: 0 }), "E_LOCK_CONFLICT");
    assert.equal(await b.tryAcquire("k"), null);
    assert.deepEqual((await b.inspect("k")).waiters, []);
    await lease.release();
  },

  async "LOCK-12: a wait ends with E_LOCK_TIMEOUT when its time is up, not before, and leaves no ticket"(bench) {
    const [a, b] = await bench.two();
    await a.acquire("k");
    const startedAt = performance.now();
    const error = await refusal(b.acquire("k", { wait: 300 }), "E_LOCK_TIMEOUT");
    assert.ok(performance.now() - startedAt >= 295);
    assert.equal(error.retryable, true);
    assert.equal(error.details.waited_ms, 300);
    assert.deepEqual((await b.inspect("k")).waiters, []);
  },

  async "LOCK-12: the client's own default wait counts for whatever it waits for"(bench) {
    const a = await bench.client();
    const b = await bench.client({ wait: 50 });
    await a.acquire("k", { mode: "read" });
    await refusal(b.acquire("k"), "E_LOCK_TIMEOUT");
    const error = await refusal((await b.acquire("k", { mode: "upgradeable" })).upgrade(), "E_LOCK_TIMEOUT");
    assert.equal(error.details.waited_ms, 50);
  },

  async "LOCK-12: waiters are served first come first served"(bench) {
    const clients = await bench.many(6);
    const [holder, ...waiters] = clients;
    assert.ok(holder);
    await undisturbed(async (key) => {
      const lease = await holder.acquire(key);
      const requests = waiters.map((waiter) => () => waiter.acquire(key));
      return servedInOrder(holder, key, lease, requests);
    });
  },

  async "LOCK-12: a waiting writer holds back new readers, so that it is not starved"(bench) {
    const [a, b, c] = await bench.many(3);
    assert.ok(a && b && c);
    const reader = await a.acquire("t", { mode: "read" });
    const writer = b.acquire("t/x");
    await whileWaiting(a, "t", 1, async () => {
      for (const key of ["t", "t/x", "t/x/y"]) {
        const entered = await c.tryAcquire(key, { mode: "read" });
        await entered?.release();
        assert.equal(entered, null, key);
        const report = await contentionOf(c.acquire(key, { mode: "read", wait: 0 }));
        assert.deepEqual([report.holder, report.owner, report.queue_length, report.holders], [null, b.owner, 1, []]);
      }
    });
    assert.equal(await isFree(c, "t/y", { mode: "read" }), true);
    await reader.release();
    await (await writer).release();
    await undisturbed(async (key) => {
      const early = await a.acquire(key, { mode: "read" });
      const requests = [() => b.acquire(`${key}/x`), () => c.acquire(key, { mode: "read" })];
      return servedInOrder(a, key, early, requests);
    });
  },

  async "LOCK-12: readers behind a writer come in together"(bench) {
    const [writer, ...clients] = await bench.many(4);
    assert.ok(writer);
    const lease = await writer.acquire("k");
    const entering = clients.map((client) => client.acquire("k", { mode: "read" }));
    await untilWaiting(writer, "k", 3);
    await lease.release();
    await Promise.all(entering);
    assert.equal((await writer.inspect("k")).grants.length, 3);
  },

  async "LOCK-12: a request for several keys stands in all their lines under one number"(bench) {
    const [a, b, c] = await bench.many(3);
    assert.ok(a && b && c);
    const held = await a.acquire("u");
    const both = b.acquire(["t", "u"]);
    await whileWaiting(a, "t", 1, async () => {
      const [inT] = (await c.inspect("t")).waiters;
      const [inU] = (await c.inspect("u")).waiters;
      assert.deepEqual([inT?.ticket_id, inT?.number], [inU?.ticket_id, inU?.number]);
      assert.deepEqual(inT?.wants, [
        { resource: "t", mode: "write" },
        { resource: "u", mode: "write" },
      ]);
      assert.equal(await isFree(c, "t"), false);
      const report = await contentionOf(c.acquire("t", { wait: 0 }));
      assert.deepEqual([report.holder, report.owner, report.queue_length], [null, b.owner, 1]);
    });
    await held.release();
    await (await both).release();
    assert.deepEqual((await c.inspect("t")).waiters, []);
    assert.equal(await isFree(c, ["t", "u"]), true);
  },

  async "LOCK-12: a client that holds something stands behind holders only"(bench) {
    const [a, b, c] = await bench.many(3);
    assert.ok(a && b && c);
    const reader = await a.acquire("k", { mode: "read" });
    const writer = b.acquire("k");
    await whileWaiting(a, "k", 1, async () => assert.equal(await isFree(c, "k", { mode: "read" }), false));
    const holder = await c.acquire("a");
    const passing = await holder.acquire("k", { mode: "read", wait: 0 });
    await passing.release();
    await reader.release();
    await writer;
  },

  async "LOCK-12: a signal ends the wait with its reason and leaves no ticket"(bench) {
    const [a, b] = await bench.two();
    const lease = await a.acquire("k");
    const stop = new AbortController();
    const reason = new Error("no longer needed");
    const waiting = assert.rejects(b.acquire("k", { signal: stop.signal }), reason);
    await untilWaiting(a, "k", 1);
    stop.abort(reason);
    await waiting;
    assert.deepEqual((await a.inspect("k")).waiters, []);
    await assert.rejects(b.acquire("free", { signal: stop.signal }), reason);
    assert.deepEqual(await a.list(), lease.grants);
    await lease.release();
    assert.equal(await isFree(a, "k"), true);
  },

  async "LOCK-12: whoever gives up lets those behind it go"(bench) {
    const [a, b, c] = await bench.many(3);
    assert.ok(a && b && c);
    await a.acquire("k", { mode: "read" });
    const stop = new AbortController();
    const reason = new Error("no longer needed");
    const writer = assert.rejects(b.acquire("k", { signal: stop.signal }), reason);
    await untilWaiting(a, "k", 1);
    const reader = c.acquire("k", { mode: "read" });
    await untilWaiting(a, "k", 2);
    stop.abort(reason);
    await writer;
    await (await reader).release();
    const late = refusal(b.acquire("k", { wait: 400 }), "E_LOCK_TIMEOUT");
    const behind = c.acquire("k", { mode: "read" });
    await late;
    await behind;
  },

  async "LOCK-12: closing a client ends its waits with a coded error and leaves no ticket and no grant"(bench) {
    const [a, b] = await bench.two();
    const lease = await a.acquire("k");
    const waiting = refusal(b.acquire("k"), "E_INVALID_ARGUMENT");
    await untilWaiting(a, "k", 1);
    await b.close();
    await waiting;
    assert.deepEqual((await a.inspect("k")).waiters, []);
    await lease.release();
    assert.deepEqual(await a.list(), []);
  },

  async "LOCK-12: under contention from many clients everybody gets in, one at a time"(bench) {
    const clients = await bench.many(8);
    let inside = 0;
    const most = await Promise.all(
      clients.map(async (client) => {
        let seen = 0;
        for (let round = 0; round < 5; round += 1)
          await client.withLock("busy/key", {}, async (lease: Lease) => {
            inside += 1;
            seen = Math.max(seen, inside);
            await lease.verify();
            inside -= 1;
          });
        return seen;
      }),
    );
    assert.equal(Math.max(...most), 1);
    const [first] = clients;
    await until("all gone", async () => (await first?.list())?.length === 0);
  },
};
