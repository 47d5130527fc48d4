import assert from "node:assert/strict";
import { contentionOf } from "../expect.fixture.js";
import { whileWaiting } from "../queue.fixture.js";
import type { Chapter } from "../test-store.fixture.js";

const FIELDS = [
  "type",
  "resource",
  "holder",
  "owner",
  "mode",
  "lease_remaining_s",
  "contention_time",
  "queue_length",
  "retry_after_ms",
  "holders",
];
const HOLDER_FIELDS = [
  "resource",
  "mode",
  "owner",
  "holder_id",
  "lock_id",
  "fencing_token",
  "since",
  "lease_remaining_s",
];

/** What a refusal says about who is in the way. */
export const contention: Chapter = {
  async "LOCK-14: the report has exactly its fields"(bench) {
    const [a, b] = await bench.two();
    const lease = await a.acquire("t", { ttl: "1h" });
    const [grant] = lease.grants;
    for (const [options, code] of [
      [{ wait: 0 }, "E_LOCK_CONFLICT"],
      [{ wait: 20 }, "E_LOCK_TIMEOUT"],
    ] as const) {
      const askedAt = Date.now();
      const report = await contentionOf(b.acquire("t/x", options), code);
      const answeredAt = Date.now();
      assert.deepEqual(Object.keys(report).sort(), [...FIELDS].sort());
      assert.equal(report.type, "LOCK_CONTENTION");
      assert.equal(report.resource, "t/x");
      assert.deepEqual([report.holder, report.owner, report.mode], [grant?.holder_id, a.owner, "write"]);
      assert.ok(Number.isInteger(report.lease_remaining_s));
      assert.ok(report.lease_remaining_s <= 3_600 && report.lease_remaining_s > 3_000);
      const toldAt = Date.parse(report.contention_time);
      assert.ok(askedAt - 10_000 < toldAt && toldAt < answeredAt + 10_000, "give or take what clocks differ");
      assert.equal(new Date(report.contention_time).toISOString(), report.contention_time);
      assert.equal(report.queue_length, 0);
      assert.ok(Number.isInteger(report.retry_after_ms) && report.retry_after_ms > 0);
      const [holder] = report.holders;
      assert.deepEqual(Object.keys(holder ?? {}).sort(), [...HOLDER_FIELDS].sort());
      assert.deepEqual(
        [holder?.lock_id, holder?.fencing_token, holder?.since, holder?.resource],
        [grant?.lock_id, lease.fencingToken, grant?.created_at, "t"],
      );
    }
  },

  async "LOCK-14: all who are in the way are named, and who waits is counted"(bench) {
    const [a, b, c] = await bench.many(3);
    assert.ok(a && b && c);
    const readers = [await a.acquire("t/1", { mode: "read" }), await b.acquire("t/2", { mode: "read" })];
    const waiting = c.acquire("t");
    await whileWaiting(a, "t", 1, async () => {
      const report = await contentionOf(a.acquire("t", { wait: 0 }));
      assert.deepEqual(report.holders.map((holder) => holder.owner).sort(), [a.owner, b.owner].sort());
      assert.equal(report.queue_length, 1);
    });
    for (const reader of readers) await reader.release();
    await waiting;
  },

  async "LOCK-14: a deliverable is named by its id"(bench) {
    const [a, b] = await bench.two();
    await a.acquire("deliverable:DEL-08-05");
    const report = await contentionOf(b.acquire("deliverable:DEL-08-05", { wait: 0 }));
    assert.equal(report.deliverable_id, "DEL-08-05");
  },

  async "LOCK-14: among several keys the one that is not free is named"(bench) {
    const [a, b] = await bench.two();
    await a.acquire("y");
    assert.equal((await contentionOf(b.acquire(["x", "y"], { wait: 0 }))).resource, "y");
    await a.acquire("s2", { permits: 1 });
    assert.equal((await contentionOf(b.acquire(["s1", "s2"], { permits: 1, wait: 0 }))).resource, "s2");
  },

  async "LOCK-14: a refused conversion and a refused order carry it, too"(bench) {
    const [a, b] = await bench.two();
    await b.acquire("k", { mode: "read" });
    const lease = await a.acquire("k", { mode: "upgradeable" });
    assert.equal((await contentionOf(lease.upgrade({ wait: 0 }))).owner, b.owner);
    const late = await a.acquire("z");
    assert.equal((await contentionOf(late.acquire("k", { wait: "1h" }), "E_LOCK_ORDER")).resource, "k");
  },
};
