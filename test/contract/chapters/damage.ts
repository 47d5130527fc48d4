import assert from "node:assert/strict";
import { isFree, refusal, SHORT, untilLapsed } from "../expect.fixture.js";
import { type Bench, type Chapter, needing } from "../test-store.fixture.js";

async function spoiled(bench: Bench, how: "unreadable" | "newer") {
  const [a, b] = await bench.two();
  const user = await bench.client({ owner: "user:ann" });
  const lease = await a.acquire("t/x", SHORT);
  const other = await a.acquire("t/other");
  await bench.store.spoil?.(bench.url, "t/x", how);
  await untilLapsed(lease);
  return { a, b, user, lease, other };
}

async function countsAsHeld(bench: Bench, how: "unreadable" | "newer"): Promise<void> {
  const { b, user, other } = await spoiled(bench, how);
  for (const key of ["t", "t/x", "t/x/y"])
    for (const mode of ["read", "upgradeable", "write"] as const)
      assert.equal(await isFree(b, key, { mode }), false, key);
  await refusal(b.acquire("t/x", { wait: 50 }), "E_LOCK_TIMEOUT");
  await refusal(b.steal("t/x"), "E_LOCK_CONFLICT");
  assert.deepEqual(await b.recover("t/x"), []);
  await refusal(user.break("t/x", { reason: "test" }), "E_NOT_FOUND");
  assert.equal((await b.inspect("t/x")).state, "held");
  assert.equal(await isFree(b, "t/y"), true, "the rest of the tree works on");
  await other.verify();
}

/** Records that cannot be read. */
export const damage: Chapter = {
  "STALE-7: an unreadable record counts as held, expired or not, and nobody ends it": needing("spoil", (bench) =>
    countsAsHeld(bench, "unreadable"),
  ),

  "STALE-7: a record of a newer schema is never evicted": needing("spoil", (bench) => countsAsHeld(bench, "newer")),

  "STALE-7: listing goes on beside it, and its holder hears that it cannot be read": needing("spoil", async (bench) => {
    const { b, lease, other } = await spoiled(bench, "unreadable");
    assert.deepEqual(await b.list(), other.grants);
    await refusal(b.verify("t/x", lease.fencingToken), "E_LOCK_NOT_HELD");
    await refusal(lease.resume(), "E_STORE_CORRUPT");
  }),
};
