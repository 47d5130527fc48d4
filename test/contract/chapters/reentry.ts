import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { isFree, refusal, SHORT, untilLapsed, untilWaiting } from "../expect.fixture.js";
import type { Chapter } from "../test-store.fixture.js";

/** A client is no stranger to what it presents, and to nothing else. */
export const reentry: Chapter = {
  async "LOCK-10: what is covered nests in its cover and keeps the fencing token"(bench) {
    const [a, b] = await bench.two();
    const outer = await a.acquire("t");
    const inner = await outer.acquire("t/x", { mode: "upgradeable", wait: 0 });
    const again = await inner.acquire("t", { wait: 0 });
    const deepest = await again.acquire("t/x/y", { mode: "read", wait: 0 });
    for (const lease of [inner, again, deepest]) assert.equal(lease.fencingToken, outer.fencingToken);
    assert.equal((await b.list()).length, 4);
    for (const lease of [deepest, again, inner, outer]) {
      assert.equal(await isFree(b, "t/x/y", { mode: "read" }), false);
      await lease.release();
    }
    assert.equal(await isFree(b, "t"), true);
  },

  async "LOCK-10: every mode nests in itself"(bench) {
    const [a, b] = await bench.two();
    for (const mode of ["read", "upgradeable", "write"] as const) {
      const outer = await a.acquire("k", { mode });
      const inner = await outer.acquire("k", { mode, wait: 0 });
      assert.equal(inner.fencingToken, outer.fencingToken, mode);
      await refusal(outer.release(), "E_LOCK_ORDER");
      await inner.release();
      await outer.release();
      assert.equal(await isFree(b, "k"), true);
    }
  },

  // kills: nested-goes-first (memory)
  async "LOCK-3: a cover can be neither released nor downgraded before what nests in it"(bench) {
    const [a, b] = await bench.two();
    const outer = await a.acquire("t");
    const inner = await outer.acquire("t/x");
    await refusal(outer.release(), "E_LOCK_ORDER");
    await refusal(outer.downgrade(), "E_LOCK_ORDER");
    assert.equal(outer.state, "held");
    await outer.verify();
    assert.equal(await outer.commit(() => "still a writer"), "still a writer");
    assert.equal(await isFree(b, "t/z", { mode: "read" }), false);
    await inner.release();
    await outer.downgrade();
    assert.equal(await isFree(b, "t/z", { mode: "read" }), true);
    await outer.release();
  },

  async "LOCK-3: a cover stays while something lives in what nested in it, though that has lapsed"(bench) {
    const [a, b] = await bench.two();
    const outer = await a.acquire("t");
    const inner = await outer.acquire("t/x", SHORT);
    const deepest = await b.acquire("t/x/y", { within: [await b.borrow("t/x", inner.token)], wait: 0 });
    await untilLapsed(inner);
    await refusal(outer.release(), "E_LOCK_ORDER");
    await deepest.release();
    await outer.release();
    assert.deepEqual(await b.list(), []);
  },

  // kills: close-once (sqlite)
  async "LOCK-8: closing gives a cover back whose release was refused before"(bench) {
    const [a, b] = await bench.two();
    const outer = await a.acquire("t");
    await outer.acquire("t/x");
    await refusal(outer.release(), "E_LOCK_ORDER");
    await a.close();
    assert.deepEqual(await b.list(), []);
  },

  async "LOCK-3: a cover whose inner grant has lapsed can go, and the lapsed one is recovered on record"(bench) {
    const [a, b] = await bench.two();
    const outer = await a.acquire("t");
    const inner = await outer.acquire("t/x", SHORT);
    await untilLapsed(inner);
    await outer.release();
    assert.deepEqual(await b.list(), []);
    const [entry] = await b.audit.list({ event: "recovered" });
    assert.ok(entry);
    const { old_fencing_token: older, new_fencing_token: newer } = entry.details;
    assert.ok(Number(newer) > Number(older), "STALE-5: old and new token");
    assert.equal(entry?.lock_id, inner.grants[0]?.lock_id);
    assert.equal(entry?.details.reason, "lease_expired");
  },

  async "LOCK-3: own grants never conflict with own requests, above or below"(bench) {
    const [a, b] = await bench.two();
    const below = await a.acquire("t/x/y");
    const above = await below.acquire("t", { wait: 0 });
    assert.ok(above.fencingToken > below.fencingToken);
    const reader = await above.acquire("t/x", { mode: "read", wait: 0 });
    assert.equal(reader.fencingToken, above.fencingToken);
    assert.equal(await isFree(b, "t/z", { mode: "read" }), false);
  },

  async "LOCK-3: a write below one's own read is refused like a reader's upgrade"(bench) {
    const [a, b] = await bench.two();
    const reader = await a.acquire("t", { mode: "read" });
    for (const mode of ["write", "upgradeable"] as const)
      for (const key of ["t", "t/x", "t/x/y"]) await refusal(reader.acquire(key, { mode }), "E_INVALID_ARGUMENT");
    assert.equal(reader.state, "held");
    const writer = await reader.acquire("u/x", { wait: 0 });
    assert.equal(await isFree(b, "t/x", { mode: "read" }), true);
    await writer.release();
  },

  async "LOCK-10: a request that presents nothing is a stranger, in the same client and under the same name"(bench) {
    const a = await bench.client({ owner: "agent:same" });
    const namesake = await bench.client({ owner: "agent:same" });
    const lease = await a.acquire("k");
    assert.equal(await isFree(a, "k"), false);
    assert.equal(await isFree(namesake, "k", { mode: "read" }), false);
    await refusal(namesake.borrow("k", "hf_not-the-token"), "E_LOCK_NOT_HELD");
    await lease.release();
    assert.equal(await isFree(namesake, "k"), true);
  },

  async "the hash of a lease token opens nothing, neither what callers compute nor what a store keeps"(bench) {
    const [a, b] = await bench.two();
    const lease = await a.acquire("k");
    const hashed = hash("sha256", lease.token, "base64url");
    const sealed = hash("sha256", `sha256:${hashed}`, "hex");
    for (const each of [hashed, `sha256:${hashed}`, `hf_${hashed}`, sealed, `sha256:${sealed}`]) {
      await refusal(b.borrow("k", each), "E_LOCK_NOT_HELD");
      await refusal(b.reattach("k", each), "E_LOCK_NOT_HELD");
      await refusal(b.acquire("k/x", { presenting: [each] }), "E_LOCK_NOT_HELD");
    }
    await lease.verify();
  },

  async "LOCK-10: whoever was handed the token may verify and commit, and has no way to renew or release"(bench) {
    const [a, child] = await bench.two();
    const lease = await a.acquire(["k", "m"]);
    const borrowed = await child.borrow(["k", "m"], lease.token);
    assert.deepEqual([borrowed.keys, borrowed.fencingTokens], [lease.keys, lease.fencingTokens]);
    await borrowed.verify();
    assert.equal(await borrowed.commit(() => 7), 7);
    for (const method of ["renew", "release", "upgrade", "downgrade", "resume"])
      assert.ok(!(method in borrowed), method);
    await lease.release();
    await refusal(borrowed.verify(), "E_LOCK_NOT_HELD");
    await refusal(
      borrowed.commit(() => assert.fail("it wrote")),
      "E_LOCK_NOT_HELD",
    );
    const next = await child.acquire("k");
    await refusal(
      borrowed.commit(() => assert.fail("it wrote")),
      "E_FENCING_MISMATCH",
    );
    await next.release();
  },

  // kills: borrowed-no-more (memory)
  async "LOCK-10: nobody overtakes the line by what was handed down and is held no more"(bench) {
    const [a, b, child] = await bench.many(3);
    assert.ok(a && b && child);
    const lease = await a.acquire("k");
    const borrowed = await child.borrow("k", lease.token);
    await lease.release();
    const reader = await a.acquire("m", { mode: "read" });
    const writing = b.acquire("m");
    await untilWaiting(a, "m", 1);
    await refusal(child.acquire("m", { mode: "read", within: [borrowed], wait: 0 }), "E_LOCK_CONFLICT");
    await reader.release();
    await (await writing).release();
  },

  async "LOCK-10: a lent reader's token commits nothing"(bench) {
    const [a, child] = await bench.two();
    const lease = await a.acquire("k", { mode: "read" });
    const borrowed = await child.borrow("k", lease.token);
    await borrowed.verify();
    await refusal(
      borrowed.commit(() => assert.fail("it wrote")),
      "E_LOCK_NOT_HELD",
    );
    await refusal(child.borrow("other", lease.token), "E_LOCK_NOT_HELD");
  },
};
