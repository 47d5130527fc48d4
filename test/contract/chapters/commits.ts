import assert from "node:assert/strict";
import { isFree, LONG, refusal, shorten, untilExpired } from "../expect.fixture.js";
import type { Chapter } from "../test-store.fixture.js";

/** What it takes to write, checked in the step that writes. */
export const commits: Chapter = {
  async "FENCE-2: a commit runs once, in a step nobody can get in front of, and passes results and errors on"(bench) {
    const [a, b] = await bench.two();
    const lease = await a.acquire("k");
    let runs = 0;
    assert.deepEqual(
      await lease.commit(() => {
        runs += 1;
        return { written: runs };
      }),
      { written: 1 },
    );
    const failure = new Error("disk full");
    await assert.rejects(
      lease.commit(() => {
        throw failure;
      }),
      failure,
    );
    assert.equal(lease.state, "held");
    await lease.verify();
    assert.equal(await isFree(b, "k"), false);
  },

  async "FENCE-2: only a write lease commits: a reader's, an upgradeable's and a permit's token never do"(bench) {
    const [a, b] = await bench.two();
    const leases = [
      await a.acquire("r", { mode: "read" }),
      await a.acquire("u", { mode: "upgradeable" }),
      await a.acquire("s", { permits: 2 }),
    ];
    for (const lease of leases) {
      await refusal(
        lease.commit(() => assert.fail("it wrote")),
        "E_LOCK_NOT_HELD",
      );
      const borrowed = await b.borrow(lease.keys, lease.token);
      await refusal(
        borrowed.commit(() => assert.fail("it wrote")),
        "E_LOCK_NOT_HELD",
      );
      assert.equal(lease.state, "held");
    }
  },

  async "FENCE-2: whoever was overtaken commits nothing, and hears why"(bench) {
    const [a, b] = await bench.two();
    const user = await bench.client({ owner: "user:ann" });
    const old = await a.acquire("k", { ttl: "1h" });
    const lent = await b.borrow("k", old.token);
    await user.break("k", { reason: "test" });
    await refusal(
      lent.commit(() => assert.fail("it wrote")),
      "E_LOCK_NOT_HELD",
    );
    const next = await b.acquire("k", { mode: "read" });
    await refusal(
      lent.commit(() => assert.fail("it wrote")),
      "E_FENCING_MISMATCH",
    );
    await refusal(
      old.commit(() => assert.fail("it wrote")),
      "E_FENCING_MISMATCH",
    );
    await next.verify();
  },

  async "FENCE-2: an expired lease commits nothing though nobody has taken over, and a borrower hears it from the store"(
    bench,
  ) {
    const [a, b] = await bench.two();
    const lease = await a.acquire("k", LONG);
    const lent = await b.borrow("k", lease.token);
    await shorten(lease);
    await untilExpired(b, "k");
    await refusal(
      lent.commit(() => assert.fail("it wrote")),
      "E_LOCK_EXPIRED",
    );
    await refusal(lent.verify(), "E_LOCK_EXPIRED");
    await refusal(
      lease.commit(() => assert.fail("it wrote")),
      "E_LOCK_EXPIRED",
    );
  },

  async "FENCE-2: a number read off a status page commits nothing"(bench) {
    const [a, b] = await bench.two();
    const lease = await a.acquire("k");
    const [record] = await b.list();
    assert.ok(record);
    await b.verify("k", record.fencing_token);
    for (const guess of [String(record.fencing_token), record.lock_id, record.nonce, "", `${lease.token}x`])
      await refusal(b.borrow("k", guess), "E_LOCK_NOT_HELD");
  },

  async "FENCE-2: a commit over several keys needs all of them"(bench) {
    const a = await bench.client();
    const user = await bench.client({ owner: "user:ann" });
    const lease = await a.acquire(["p", "q"]);
    assert.equal(await lease.commit(() => 1), 1);
    await user.break("q", { reason: "test" });
    await refusal(
      lease.commit(() => assert.fail("it wrote")),
      "E_LOCK_NOT_HELD",
    );
  },
};
