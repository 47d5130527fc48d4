import assert from "node:assert/strict";
import { openHoldfast } from "../../../src/index.js";
import { LONG, refusal, SHORT, shorten, untilExpired, untilLapsed } from "../expect.fixture.js";
import type { Chapter } from "../test-store.fixture.js";

/** The number that only grows, and what it takes to write. */
export const fencing: Chapter = {
  async "FENCE-1: tokens grow over every kind of end and in every mode, all over a tree"(bench) {
    const a = await bench.client();
    const user = await bench.client({ owner: "user:ann" });
    const tokens: number[] = [];
    const take = async (client: typeof a, key: string, options = {}) => {
      const lease = await client.acquire(key, { wait: 0, ...options });
      tokens.push(...lease.fencingTokens.toSorted((one, other) => one - other));
      return lease;
    };
    await (await take(a, "t/x")).release();
    await (await take(user, "t", { mode: "read" })).release();
    await take(a, "t/x");
    await user.break("t/x", { reason: "test" });
    const upgrading = await take(a, "t/x", { mode: "upgradeable" });
    await upgrading.upgrade();
    tokens.push(upgrading.fencingToken);
    await upgrading.release();
    const lapsing = await take(a, "t/y", SHORT);
    await untilExpired(user, "t/y");
    const resumed = await lapsing.resume();
    tokens.push(resumed.fencingToken);
    await untilExpired(user, "t/y");
    await (await take(user, "t")).release();
    await (await take(a, "t/s", { permits: 3 })).release();
    await (await a.acquire(["t/1", "t/2"])).release();
    await take(a, "t/deep/er/still", { mode: "read" });
    assert.deepEqual(
      tokens,
      [...new Set(tokens)].sort((one, other) => one - other),
    );
    assert.ok(tokens.every((token) => Number.isSafeInteger(token) && token > 0));
  },

  async "FENCE-1: and over closing and opening the store again"(bench) {
    let last = 0;
    const keepsItOpen = await openHoldfast({ store: bench.url, ...bench.store.options });
    if (!bench.store.isVolatile) await keepsItOpen.close();
    for (let round = 0; round < 4; round += 1) {
      const [a, b] = await bench.two();
      for (const client of [a, b, a]) {
        const lease = await client.acquire("t/x", { wait: 0 });
        assert.ok(lease.fencingToken > last);
        last = lease.fencingToken;
        await lease.release();
      }
      await bench.closeAll();
    }
    await keepsItOpen.close();
  },

  async "FENCE-1: clients at work at the same time never get the same number"(bench) {
    const clients = await bench.many(6);
    const tokens = await Promise.all(
      clients.map(async (client, at) => {
        const mine: number[] = [];
        for (let round = 0; round < 10; round += 1) {
          const lease = await client.acquire(`t/${at}`);
          mine.push(lease.fencingToken);
          await lease.release();
        }
        assert.deepEqual(
          mine,
          mine.toSorted((one, other) => one - other),
        );
        return mine;
      }),
    );
    assert.equal(new Set(tokens.flat()).size, 60);
  },

  async "FENCE-2: verify passes for a live grant on the resource or above it, as often as asked"(bench) {
    const [a, b] = await bench.two();
    const writer = await a.acquire("t/x");
    const reader = await b.acquire("u", { mode: "read" });
    for (let time = 0; time < 3; time += 1) {
      for (const key of ["t/x", "t/x/y", "t/x/y/z"])
        assert.deepEqual(await b.verify(key, writer.fencingToken), writer.grants[0]);
      assert.deepEqual(await a.verify("u/below", reader.fencingToken), reader.grants[0]);
    }
  },

  async "FENCE-2: the three ways to fail are told apart"(bench) {
    const [a, b] = await bench.two();
    const first = await a.acquire("t/x");
    await first.release();
    await refusal(b.verify("t/x", first.fencingToken), "E_LOCK_NOT_HELD");
    const second = await b.acquire("t/x");
    await refusal(a.verify("t/x", first.fencingToken), "E_FENCING_MISMATCH");
    await refusal(a.verify("t/x", second.fencingToken + 1), "E_FENCING_MISMATCH");
    await refusal(a.verify("t", second.fencingToken), "E_LOCK_NOT_HELD");
    await refusal(a.verify("t/y", second.fencingToken), "E_LOCK_NOT_HELD");
    const lapsing = await a.acquire("u", SHORT);
    await untilExpired(b, "u");
    await refusal(b.verify("u", lapsing.fencingToken), "E_LOCK_EXPIRED");
    await refusal(b.verify("u/below", lapsing.fencingToken), "E_LOCK_EXPIRED");
  },

  async "FENCE-2: a live grant with the number is found beside a lapsed one that has the same"(bench) {
    const [a, b] = await bench.two();
    const outer = await a.acquire("t", LONG);
    const inner = await outer.acquire("t/x", { ttl: "1h" });
    assert.equal(inner.fencingToken, outer.fencingToken);
    await shorten(outer);
    await untilLapsed(outer);
    await refusal(b.acquire("t/x", { wait: 0 }), "E_LOCK_CONFLICT");
    assert.equal((await b.verify("t/x", inner.fencingToken)).lock_id, inner.grants[0]?.lock_id);
    await refusal(b.verify("t/y", outer.fencingToken), "E_LOCK_EXPIRED");
    await inner.verify();
  },
};
