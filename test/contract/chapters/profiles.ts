import assert from "node:assert/strict";
import { isFree, LONG, lossOf, refusal, SHORT, shorten, until, untilExpired } from "../expect.fixture.js";
import { type Chapter, needing } from "../test-store.fixture.js";

/** When a grant may be ended without its holder: four declared rules. */
export const profiles: Chapter = {
  async "STALE-1: default: an expired lease is enough"(bench) {
    const [a, b] = await bench.two();
    const lease = await a.acquire("k", LONG);
    assert.equal((await b.inspect("k")).profile, "default");
    assert.equal(await isFree(b, "k"), false);
    await shorten(lease);
    await untilExpired(b, "k");
    assert.equal(await isFree(b, "k"), true);
  },

  "STALE-1: default: so is a process that is proven dead, however long its lease": needing(
    "proof of death",
    async (bench) => {
      const [a, b] = await bench.two();
      const process = await bench.process();
      await a.acquire("k", { pid: process.pid, ttl: "1h" });
      assert.equal(await isFree(b, "k"), false);
      await process.kill();
      const [taken] = [await b.acquire("k", { wait: 0 })];
      const [entry] = await b.audit.list({ event: "stolen" });
      assert.equal(entry?.details.reason, "process_dead");
      await taken.release();
    },
  ),

  async "STALE-1: lease: only the lease counts, not the death of the process"(bench) {
    const [a, b] = await bench.two();
    const process = await bench.process();
    const lease = await a.acquire("worktree:w", { pid: process.pid, ttl: "1h" });
    assert.equal((await b.inspect("worktree:w")).profile, "lease");
    await process.kill();
    assert.equal(await isFree(b, "worktree:w"), false);
    await shorten(lease);
    await untilExpired(b, "worktree:w");
    assert.equal(await isFree(b, "worktree:w"), true);
  },

  async "STALE-1: dal: expired and without a heartbeat for the grace period"(bench) {
    const a = await bench.client({ grace: "1h" });
    const b = await bench.client({ grace: "2s" });
    const process = await bench.process();
    const lease = await a.acquire("project:p", { pid: process.pid, ttl: "1h" });
    assert.equal((await b.inspect("project:p")).profile, "dal");
    await process.kill();
    assert.equal(await isFree(b, "project:p"), false, "a death is not enough");
    await shorten(lease);
    await untilExpired(b, "project:p");
    assert.equal(await isFree(b, "project:p"), false, "nor is an expired lease");
    assert.deepEqual(await b.recover("project:p"), []);
    const brief = await b.acquire("project:q", SHORT);
    const renewedAt = Date.parse(brief.grants[0]?.last_renewed_at ?? "");
    await a.acquire("project:q");
    assert.ok(Date.now() - renewedAt >= 1_995, "the grace period was kept");
  },

  async "STALE-1: dal: the grace period is one lease unless set"(bench) {
    const [a, b] = await bench.two();
    await a.acquire("project:p", SHORT);
    await untilExpired(b, "project:p");
    assert.equal(await isFree(b, "project:p"), true);
  },

  // kills: close-unproven (file)
  "STALE-2: so is a client that closed and left something that it had lost": needing(
    "proof of death",
    async (bench) => {
      const [a, b] = await bench.two();
      const admin = await bench.client({ owner: "admin:root" });
      const lease = await a.acquire(["p", "q"]);
      await admin.break("q", { reason: "needed" });
      await refusal(lease.renew(), "E_LOCK_NOT_HELD");
      assert.equal(await isFree(b, "p"), false);
      await a.close();
      assert.equal(await isFree(b, "p"), true);
    },
  ),

  "STALE-1: strict: never by time alone, only by proven death": needing("proof of death", async (bench) => {
    const [a, b] = await bench.two({ profiles: { "vault:": "strict" } });
    const process = await bench.process();
    const lease = await a.acquire("vault:v", { pid: process.pid, ttl: "1s" });
    assert.equal((await b.inspect("vault:v")).profile, "strict");
    await untilExpired(b, "vault:v");
    assert.equal((await lossOf(lease)).code, "E_LOCK_EXPIRED");
    await refusal(b.acquire("vault:v", { wait: 300 }), "E_LOCK_TIMEOUT");
    assert.deepEqual(await b.recover("vault:v"), []);
    await process.kill();
    assert.equal(await isFree(b, "vault:v"), true);
  }),

  async "STALE-1: strict refuses a detached grant without a process, and an administrator breaks it"(bench) {
    const a = await bench.client({ profiles: { "vault:": "strict" } });
    const admin = await bench.client({ owner: "admin:ann" });
    await refusal(a.acquire("vault:v", { detached: true }), "E_INVALID_ARGUMENT");
    await refusal(a.acquire(["k", "vault:v"], { detached: true }), "E_INVALID_ARGUMENT");
    assert.deepEqual(await admin.list(), []);
    await a.acquire("vault:v");
    await admin.break("vault:v", { reason: "gone for the day" });
    assert.equal(await isFree(admin, "vault:v"), true);
  },

  async "STALE-1: the longest prefix decides, and the profile is the grant's own"(bench) {
    const profiles = { "a/": "lease", "a/b": "strict", "a/b/c": "dal" } as const;
    const [a, b] = await bench.two({ profiles });
    for (const [key, profile] of Object.entries({ "a/x": "lease", "a/b/x": "strict", "a/b/c": "dal", a: "default" }))
      assert.equal((await a.inspect(key)).profile, profile, key);
    const process = await bench.process();
    await a.acquire("a/b/x", { pid: process.pid, ttl: "1s" });
    await a.acquire("a/x", SHORT);
    await until("the rest is free", async () => (await b.recover("a")).length === 1);
    assert.equal(await isFree(b, "a"), false);
  },
};
