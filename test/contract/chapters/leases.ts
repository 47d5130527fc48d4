import assert from "node:assert/strict";
import { openHoldfast } from "../../../src/index.js";
import {
  isFree,
  LONG,
  prolonged,
  refusal,
  SHORT,
  undisturbed,
  untilExpired,
  untilRenewedOrLost,
} from "../expect.fixture.js";
import type { Chapter } from "../test-store.fixture.js";

/** A grant's life in time. */
export const leases: Chapter = {
  async "LOCK-5: a lease is 30 s unless asked otherwise, from 1 s to 24 h"(bench) {
    const [a, b] = await bench.two({ ttl: "2m" });
    const plain = await openHoldfast({ store: bench.url, ...bench.store.options });
    assert.equal((await plain.acquire("k1")).grants[0]?.lease_duration_s, 30);
    await plain.close();
    assert.equal((await a.acquire("k2")).grants[0]?.lease_duration_s, 120);
    assert.equal((await a.acquire("k3", { ttl: 1_500 })).grants[0]?.lease_duration_s, 1.5);
    for (const [ttl, seconds] of [
      ["1s", 1],
      ["24h", 86_400],
    ] as const) {
      const lease = await b.acquire("k4", { ttl });
      assert.equal(lease.grants[0]?.lease_duration_s, seconds);
      await lease.release();
    }
    for (const ttl of ["999ms", "86401s"]) await refusal(b.acquire("k4", { ttl }), "E_INVALID_ARGUMENT");
  },

  async "LOCK-5: a detached grant lasts 15 min unless asked otherwise, whatever the client's default"(bench) {
    const [a, b] = await bench.two({ ttl: "2m" });
    const lease = await a.acquire("k", { detached: true });
    assert.equal((await b.list())[0]?.lease_duration_s, 900);
    await a.close();
    assert.equal(await isFree(b, "k"), false);
    assert.deepEqual(await b.list(), lease.grants);
  },

  async "LOCK-5: what a living process holds is renewed for it"(bench) {
    const [a, b] = await bench.two();
    await undisturbed(async (key, attempt) => {
      const lease = await a.acquire(key, { ttl: 3_000 * attempt });
      const firstEnd = lease.grants[0]?.lease_expires_at ?? "";
      await untilRenewedOrLost(lease, b, firstEnd);
      if (lease.state === "lost") return "disturbed";
      assert.equal((await b.inspect(key)).grants[0]?.fencing_token, lease.fencingToken);
      return "shown";
    });
  },

  async "LOCK-5: also after it was renewed to a shorter lease"(bench) {
    const [a, b] = await bench.two();
    await undisturbed(async (key, attempt) => {
      const lease = await a.acquire(key, { ttl: "1h" });
      await lease.renew(3_000 * attempt);
      const [shorter] = lease.grants;
      assert.equal(shorter?.lease_duration_s, 3 * attempt);
      await untilRenewedOrLost(lease, b, shorter.last_renewed_at);
      if (lease.state === "lost") return "disturbed";
      assert.equal((await b.inspect(key)).grants[0]?.lease_duration_s, 3 * attempt);
      return "shown";
    });
  },

  async "LOCK-5: nobody renews a detached grant"(bench) {
    const [a, b] = await bench.two();
    const lease = await a.acquire("k", SHORT);
    await untilExpired(b, "k");
    assert.equal(lease.state, "lost");
    const next = await b.acquire("k", { wait: 0 });
    assert.ok(next.fencingToken > lease.fencingToken);
  },

  async "LOCK-5: a challenger obeys the duration in the record, not its own"(bench) {
    const a = await bench.client({ ttl: "24h" });
    const b = await bench.client({ ttl: "1s" });
    const long = await b.acquire("long", LONG);
    const short = await a.acquire("short", SHORT);
    await untilExpired(b, "short");
    assert.equal(await isFree(b, "long"), false);
    assert.equal(await isFree(a, "short"), true);
    assert.equal(long.state, "held");
    assert.equal(short.state, "lost");
  },

  async "LOCK-7: a renewal extends the lease, keeps the token, and can change the length"(bench) {
    const [a, b] = await bench.two();
    await undisturbed(async (key, attempt) => {
      const lease = await a.acquire(key, { ttl: 2_000 * attempt, detached: true });
      const [before] = lease.grants;
      if (!(await prolonged(lease))) return "disturbed";
      const [after] = (await b.inspect(key)).grants;
      assert.deepEqual(
        {
          ...after,
          last_renewed_at: before?.last_renewed_at,
          lease_expires_at: before?.lease_expires_at,
          lease_duration_s: 2 * attempt,
        },
        before,
      );
      assert.equal(after?.lease_duration_s, 3_600);
      await refusal(b.acquire(key, { wait: 2_000 * attempt + 200 }), "E_LOCK_TIMEOUT");
      assert.equal(lease.state, "held");
      await refusal(lease.renew(10), "E_INVALID_ARGUMENT");
      return "shown";
    });
  },

  async "LOCK-7: several keys are renewed together or not at all"(bench) {
    const a = await bench.client();
    const admin = await bench.client({ owner: "admin:ann" });
    const lease = await a.acquire(["p", "q"], { ttl: "60s", detached: true });
    await admin.break("q", { reason: "needed" });
    await refusal(lease.renew("2h"), "E_LOCK_NOT_HELD");
    assert.deepEqual(
      (await admin.list()).map((record) => [record.resource, record.lease_duration_s]),
      [["p", 60]],
    );
    assert.equal(lease.state, "lost");
  },

  async "LOCK-7: a lease that ran out and that nobody ended is resumed as a new one"(bench) {
    const [a, b] = await bench.two();
    await undisturbed(async (key, attempt) => {
      const old = await a.acquire([key, `${key}-m`], { ttl: 2_000 * attempt, detached: true });
      await untilExpired(b, key);
      await refusal(old.renew(), "E_LOCK_EXPIRED");
      const resumed = await old.resume();
      if (!(await prolonged(resumed))) return "disturbed";
      assert.deepEqual([resumed.state, old.state], ["held", "lost"]);
      assert.notEqual(resumed.token, old.token);
      for (const [at, token] of resumed.fencingTokens.entries()) assert.ok(token > (old.fencingTokens[at] ?? 0));
      await resumed.verify();
      assert.equal(await resumed.commit(() => "written"), "written");
      await refusal(b.verify(key, old.fencingToken), "E_FENCING_MISMATCH");
      await refusal(b.borrow(key, old.token), "E_LOCK_NOT_HELD");
      await refusal(
        old.commit(() => assert.fail("it wrote")),
        "E_LOCK_EXPIRED",
      );
      await refusal(old.renew(), "E_LOCK_EXPIRED");
      await refusal(old.resume(), "E_LOCK_NOT_HELD");
      await old.release();
      await resumed.verify();
      const entries = (await b.audit.list({ event: "resumed" })).filter(({ resource }) => old.keys.includes(resource));
      assert.deepEqual(
        entries.map((entry) => [entry.resource, entry.fencing_token, entry.details.old_fencing_token]).sort(),
        resumed.keys.map((key, at) => [key, resumed.fencingTokens[at], old.fencingTokens[at]]),
      );
      await resumed.release();
      return "shown";
    });
  },

  async "LOCK-7: what somebody has taken over meanwhile is not resumed"(bench) {
    const [a, b] = await bench.two();
    const old = await a.acquire("k", SHORT);
    await untilExpired(b, "k");
    const next = await b.acquire("k", { wait: 0 });
    await refusal(old.resume(), "E_LOCK_NOT_HELD");
    await next.verify();
    await old.release();
    await next.verify();
  },

  async "LOCK-7: a lease that is still good is renewed, not resumed"(bench) {
    const [a, b] = await bench.two();
    const lease = await a.acquire("k");
    await refusal(lease.resume(), "E_INVALID_ARGUMENT");
    assert.equal(await isFree(b, "k"), false);
  },
};
