import assert from "node:assert/strict";
import { eventsOf, refusal, SHORT, untilExpired, untilWaiting } from "../expect.fixture.js";
import type { Chapter } from "../test-store.fixture.js";

const FIELDS = [
  "seq",
  "at",
  "event",
  "resource",
  "owner",
  "holder_id",
  "fencing_token",
  "lock_id",
  "details",
  "prev_hash",
  "hash",
];

/** The record of what happened, written in the same step as what it tells of. */
export const audit: Chapter = {
  async "AUDIT-1: every change is one entry with exactly its fields"(bench) {
    const a = await bench.client();
    const user = await bench.client({ owner: "user:ann" });
    const lease = await a.acquire("t/x", { mode: "upgradeable" });
    await lease.upgrade();
    await refusal(user.acquire("t", { wait: 30 }), "E_LOCK_TIMEOUT");
    await lease.downgrade();
    await lease.release();
    const lapsing = await a.acquire("t/y", SHORT);
    await untilExpired(user, "t/y");
    await lapsing.resume();
    await untilExpired(user, "t/y");
    await user.recover("t");
    await a.acquire("t/z", SHORT);
    await untilExpired(user, "t/z");
    await user.acquire("t/z");
    await user.break("t/z", { reason: "test" });
    const entries = await user.audit.list();
    assert.deepEqual(eventsOf(entries), [
      "granted t/x",
      "upgraded t/x",
      "refused t",
      "downgraded t/x",
      "released t/x",
      "granted t/y",
      "resumed t/y",
      "recovered t/y",
      "granted t/z",
      "stolen t/z",
      "granted t/z",
      "broken t/z",
    ]);
    for (const [at, entry] of entries.entries()) {
      assert.deepEqual(Object.keys(entry).sort(), [...FIELDS].sort());
      assert.equal(entry.seq, at + 1);
      assert.equal(entry.prev_hash, entries[at - 1]?.hash ?? "0".repeat(64));
      assert.match(entry.hash, /^[0-9a-f]{64}$/);
    }
    const [granted] = entries;
    assert.deepEqual(
      [granted?.owner, granted?.holder_id, granted?.lock_id],
      [a.owner, lease.grants[0]?.holder_id, lease.grants[0]?.lock_id],
    );
    const refused = entries.find((entry) => entry.event === "refused");
    assert.deepEqual([refused?.owner, refused?.fencing_token, refused?.lock_id], ["user:ann", null, null]);
    assert.deepEqual(await user.audit.verify(), { ok: true, chains: 1, entries: 12, bad: [] });
  },

  async "AUDIT-1: plain renewals are counted, not listed; what changes nothing leaves no entry"(bench) {
    const [a, b] = await bench.two();
    const lease = await a.acquire("k");
    for (let times = 0; times < 3; times += 1) await lease.renew();
    await lease.verify();
    await lease.commit(() => undefined);
    await refusal(b.acquire("k", { wait: 0 }), "E_LOCK_CONFLICT");
    await b.inspect("k");
    await b.recover("k");
    const stop = new AbortController();
    const waiting = b.acquire("k", { signal: stop.signal }).catch(() => undefined);
    await untilWaiting(a, "k", 1);
    stop.abort();
    await waiting;
    await lease.release();
    const entries = await b.audit.list();
    assert.deepEqual(eventsOf(entries), ["granted k", "released k"]);
    assert.equal(entries[1]?.details.renewals, 3);
  },

  // kills: audit-hash-sqlite (sqlite)
  async "AUDIT-2: a chain per tree; what spans several has one entry in each, with a shared op_id"(bench) {
    const [a, b] = await bench.two();
    const holder = await b.acquire("u");
    await refusal(a.acquire(["t/1", "t/2", "u/1"], { wait: 30 }), "E_LOCK_TIMEOUT");
    await holder.release();
    const old = await a.acquire(["t/1", "t/2", "u/1"], SHORT);
    await untilExpired(b, "t");
    const lease = await old.resume();
    await lease.release();
    const entries = await b.audit.list();
    for (const event of ["refused", "granted", "resumed", "released"] as const) {
      const together = entries.filter((entry) => entry.event === event && entry.owner === a.owner);
      assert.equal(together.length, 3, event);
      assert.equal(new Set(together.map((entry) => entry.details.op_id)).size, 1, event);
      assert.match(String(together[0]?.details.op_id), /^[0-9a-f-]{36}$/, event);
    }
    for (const tree of ["t", "u"]) {
      const chain = await b.audit.list({ resource: tree });
      assert.deepEqual(
        chain.map((entry) => entry.seq),
        chain.map((_, at) => at + 1),
      );
    }
    const verdict = await b.audit.verify();
    assert.deepEqual(verdict, { ok: true, chains: 2, entries: entries.length, bad: [] });
    assert.equal((await b.audit.verify({ resource: "t/1" })).chains, 1);
  },

  async "AUDIT-3: what is refused or fails leaves neither a change nor an entry"(bench) {
    const [a, b] = await bench.two({ profiles: { "vault:": "strict" } });
    const lease = await a.acquire("t");
    const before = [await b.list(), await b.audit.list()];
    await refusal(b.acquire(["s", "t/x", "u"], { wait: 0 }), "E_LOCK_CONFLICT");
    await refusal(b.acquire(["s", "vault:v"], { detached: true }), "E_INVALID_ARGUMENT");
    await refusal(b.break("t", { reason: "test" }), "E_FORBIDDEN");
    await assert.rejects(
      lease.commit(() => {
        throw new Error("no");
      }),
    );
    assert.deepEqual([await b.list(), await b.audit.list()], before);
  },

  async "AUDIT-3: clients at work at once leave one whole chain"(bench) {
    const clients = await bench.many(5);
    await Promise.all(
      clients.map(async (client, at) => {
        for (let round = 0; round < 8; round += 1) await client.withLock([`t/${at}`, "u"], {}, () => undefined);
      }),
    );
    const [first] = clients;
    assert.deepEqual(await first?.audit.verify(), { ok: true, chains: 2, entries: 5 * 8 * 4, bad: [] });
  },
};
