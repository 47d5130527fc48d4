import assert from "node:assert/strict";
import { isFree, LONG, lossOf, refusal, SHORT, shorten } from "../expect.fixture.js";
import type { Chapter } from "../test-store.fixture.js";

/** A holder hears of its loss before others come in, and commits nothing after it. */
export const loss: Chapter = {
  async "LOCK-6: the signal aborts with the coded reason before another may take over"(bench) {
    const [a, b] = await bench.two();
    const lease = await a.acquire("k", LONG);
    const { signal } = lease;
    assert.deepEqual([lease.state, signal.aborted], ["held", false]);
    let reason: unknown;
    signal.addEventListener("abort", () => {
      reason = signal.reason;
    });
    await shorten(lease);
    const next = await b.acquire("k");
    assert.equal(lease.signal.aborted, true, "aborted before the successor held it");
    assert.equal((await lossOf(lease)).code, "E_LOCK_EXPIRED");
    assert.equal(reason, signal.reason);
    assert.equal(lease.state, "lost");
    for (const action of [
      lease.verify(),
      lease.renew(),
      lease.acquire("more"),
      lease.commit(() => assert.fail("it wrote")),
    ])
      assert.equal(await refusal(action, "E_LOCK_EXPIRED"), signal.reason);
    await next.verify();
  },

  async "LOCK-6: a signal asked for after the loss has aborted already"(bench) {
    const [a, b] = await bench.two();
    const lease = await a.acquire("k", SHORT);
    await b.acquire("k");
    assert.equal(lease.signal.aborted, true);
    assert.equal((await lossOf(lease)).code, "E_LOCK_EXPIRED");
  },

  async "LOCK-6: a refused renewal loses the lease at once, long before its time"(bench) {
    const a = await bench.client({ heartbeat: 50 });
    const admin = await bench.client({ owner: "admin:ann" });
    const lease = await a.acquire("k", { ttl: "1h" });
    await admin.break("k", { reason: "stuck" });
    assert.equal((await lossOf(lease)).code, "E_LOCK_NOT_HELD");
    assert.equal(lease.state, "lost");
    await refusal(
      lease.commit(() => assert.fail("it wrote")),
      "E_LOCK_NOT_HELD",
    );
    await lease.release();
  },

  async "LOCK-6: any answer of the store that tells of the loss is believed"(bench) {
    const a = await bench.client();
    const admin = await bench.client({ owner: "admin:ann" });
    for (const [name, code] of [
      ["verify", "E_FENCING_MISMATCH"],
      ["renew", "E_LOCK_NOT_HELD"],
      ["commit", "E_FENCING_MISMATCH"],
      ["downgrade", "E_LOCK_NOT_HELD"],
    ] as const) {
      const lease = await a.acquire(`t/${name}`, { ttl: "1h" });
      await admin.break(`t/${name}`, { reason: "stuck" });
      const successor = await admin.acquire(`t/${name}`);
      const action = name === "commit" ? lease.commit(() => assert.fail("it wrote")) : lease[name]();
      const error = await refusal(action, code);
      assert.equal(lease.state, "lost");
      assert.equal(lease.signal.reason, error);
      await successor.verify();
    }
  },

  async "LOCK-6: one lost key loses the lease, and releasing it gives back what is left"(bench) {
    const a = await bench.client();
    const admin = await bench.client({ owner: "admin:ann" });
    const lease = await a.acquire(["p", "q"]);
    await admin.break("q", { reason: "needed" });
    await refusal(lease.verify(), "E_LOCK_NOT_HELD");
    assert.equal(lease.state, "lost");
    assert.equal(await isFree(admin, "p"), false);
    await lease.release();
    assert.equal(await isFree(admin, "p"), true);
  },
};
