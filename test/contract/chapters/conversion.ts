import assert from "node:assert/strict";
import { contentionOf, inOrder, isFree, refusal, undisturbed, until, untilWaiting } from "../expect.fixture.js";
import { lineUp, placesFor, whileWaiting } from "../queue.fixture.js";
import type { Chapter } from "../test-store.fixture.js";

/** upgradeable → write and write → read, with nobody in between. */
export const conversion: Chapter = {
  async "LOCK-9: an upgrade waits for the last reader and mints a new fencing token"(bench) {
    const [a, b] = await bench.two();
    const readers = [await b.acquire("k", { mode: "read" }), await b.acquire("k/below", { mode: "read" })];
    const lease = await a.acquire("k", { mode: "upgradeable" });
    const before = lease.fencingToken;
    const { seen, note } = inOrder();
    const upgraded = lease.upgrade().then(note("upgraded"));
    for (const reader of readers) {
      await untilWaiting(b, "k", 1);
      note("releasing")(reader);
      await reader.release();
    }
    await upgraded;
    assert.deepEqual(seen, ["releasing", "releasing", "upgraded"]);
    assert.equal(lease.mode, "write");
    assert.ok(lease.fencingToken > before);
    await refusal(b.verify("k", before), "E_FENCING_MISMATCH");
    assert.equal((await b.verify("k", lease.fencingToken)).mode, "write");
    assert.equal(await lease.commit(() => "written"), "written");
    assert.equal(await isFree(b, "k/below", { mode: "read" }), false);
  },

  async "LOCK-9: while an upgrade waits no reader enters that is not there already"(bench) {
    const [a, b, c] = await bench.many(3);
    assert.ok(a && b && c);
    const reader = await b.acquire("k/x", { mode: "read" });
    const lease = await a.acquire("k", { mode: "upgradeable" });
    assert.equal(await isFree(c, "k", { mode: "read" }), true);
    const holder = await c.acquire("a-first");
    const upgrade = lease.upgrade();
    await whileWaiting(c, "k", 1, async () => {
      for (const key of ["k", "k/x", "k/y"]) assert.equal(await isFree(c, key, { mode: "read" }), false, key);
      const entering = holder.acquire("k/y", { mode: "read", wait: 0 });
      await entering.then((entered) => entered.release()).catch(() => undefined);
      await refusal(entering, "E_LOCK_CONFLICT");
    });
    const more = await reader.acquire("k/y", { mode: "read", wait: 0 });
    await more.release();
    await reader.release();
    await upgrade;
  },

  async "LOCK-9: an upgrade goes to the head of the line"(bench) {
    const [a, b, c] = await bench.many(3);
    assert.ok(a && b && c);
    const reader = await b.acquire("k", { mode: "read" });
    const lease = await a.acquire("k", { mode: "upgradeable" });
    const { seen, note } = inOrder();
    const writer = c.acquire("k").then(note("writer"));
    await untilWaiting(b, "k", 1);
    const upgrade = lease.upgrade().then(note("upgrade"));
    await untilWaiting(b, "k", 2);
    await reader.release();
    await upgrade;
    await lease.release();
    await writer;
    assert.deepEqual(seen, ["upgrade", "writer"]);
  },

  async "LOCK-9: an upgrade that gives up leaves no ticket, and readers come in again"(bench) {
    const [a, b] = await bench.two();
    await b.acquire("k", { mode: "read" });
    const lease = await a.acquire("k", { mode: "upgradeable" });
    await refusal(lease.upgrade({ wait: 0 }), "E_LOCK_CONFLICT");
    const report = await contentionOf(lease.upgrade({ wait: 100 }), "E_LOCK_TIMEOUT");
    assert.equal(report.owner, b.owner);
    const stop = new AbortController();
    const aborted = assert.rejects(lease.upgrade({ signal: stop.signal }), /changed my mind/);
    await untilWaiting(b, "k", 1);
    stop.abort(new Error("changed my mind"));
    await aborted;
    await untilWaiting(b, "k", 0);
    assert.deepEqual([lease.mode, lease.state], ["upgradeable", "held"]);
    assert.equal(await isFree(b, "k", { mode: "read" }), true);
  },

  async "LOCK-9: an upgrade that would have to wait while its client holds a later node is E_LOCK_ORDER"(bench) {
    const [a, b] = await bench.two();
    const lease = await a.acquire("k", { mode: "upgradeable" });
    const later = await lease.acquire("m");
    const reader = await b.acquire("k", { mode: "read" });
    await refusal(lease.upgrade({ wait: "10s" }), "E_LOCK_ORDER");
    assert.deepEqual([lease.mode, lease.state], ["upgradeable", "held"]);
    await reader.release();
    await lease.upgrade({ wait: 0 });
    assert.equal(lease.mode, "write");
    await later.release();
  },

  async "LOCK-9: with only earlier nodes in hand it may wait"(bench) {
    const [a, b] = await bench.two();
    const first = await a.acquire("a");
    const lease = await first.acquire("k", { mode: "upgradeable" });
    const reader = await b.acquire("k", { mode: "read" });
    const upgrade = lease.upgrade();
    await untilWaiting(b, "k", 1);
    await reader.release();
    await upgrade;
  },

  // kills: upgrade-in-a-circle (memory)
  async "LOCK-9: an upgrade waits no longer once its client has taken a later node, for which a reader may wait"(
    bench,
  ) {
    const [a, b] = await bench.two();
    const reader = await b.acquire("k", { mode: "read" });
    const lease = await a.acquire("k", { mode: "upgradeable" });
    const refused = refusal(lease.upgrade({ wait: "5s" }), "E_LOCK_ORDER");
    await untilWaiting(b, "k", 1);
    const later = await lease.acquire("m");
    const crossing = reader.acquire("m", { wait: "5s" });
    await refused;
    assert.deepEqual([lease.mode, lease.state], ["upgradeable", "held"]);
    await later.release();
    await (await crossing).release();
  },

  async "LOCK-9: a plain reader cannot upgrade, a writer need not"(bench) {
    const [a, b] = await bench.two();
    const reader = await a.acquire("k", { mode: "read" });
    await refusal(reader.upgrade(), "E_INVALID_ARGUMENT");
    assert.equal(reader.state, "held");
    const writer = await b.acquire("m");
    const { fencingToken } = writer;
    await writer.upgrade({ wait: 0 });
    assert.equal(writer.fencingToken, fencingToken);
    const both = await a.acquire(["p", "q"], { mode: "upgradeable" });
    await refusal(both.upgrade(), "E_INVALID_ARGUMENT");
  },

  async "LOCK-9: a downgrade keeps the token, lets waiting readers in and no writer between"(bench) {
    const [a, b, c] = await bench.many(3);
    assert.ok(a && b && c);
    await undisturbed(async (key) => {
      const lease = await a.acquire(key);
      const { fencingToken } = lease;
      const requests = [() => b.acquire(key, { mode: "read" }), () => c.acquire(key)];
      const { asked, places } = await lineUp(a, key, requests);
      const [reader, writer] = asked;
      await lease.downgrade();
      assert.deepEqual([lease.mode, lease.fencingToken], ["read", fencingToken]);
      const first = places?.[0] ?? "";
      await until("the reader leaves its place", async () => !(await placesFor(a, key)).includes(first));
      const owners = (await a.inspect(key)).grants.map((grant) => grant.owner);
      assert.ok(!owners.includes(c.owner), "no writer comes in");
      const hasEntered = owners.includes(b.owner);
      await lease.verify();
      await refusal(
        lease.commit(() => assert.fail("it wrote")),
        "E_LOCK_NOT_HELD",
      );
      if (hasEntered) {
        const entered = await reader;
        await untilWaiting(b, key, 1);
        await entered?.release();
        await untilWaiting(b, key, 1);
      }
      assert.equal(lease.state, "held");
      await lease.release();
      await Promise.all(asked.map(async (lease) => (await lease).release()));
      assert.ok((await writer)?.mode === "write");
      return hasEntered ? "shown" : "disturbed";
    });
  },

  async "LOCK-9: upgradeable comes down to read as well, and makes room for another upgradeable"(bench) {
    const [a, b] = await bench.two();
    const lease = await a.acquire("k", { mode: "upgradeable" });
    assert.equal(await isFree(b, "k", { mode: "upgradeable" }), false);
    await lease.downgrade();
    await lease.downgrade();
    assert.equal(await isFree(b, "k", { mode: "upgradeable" }), true);
  },

  async "LOCK-9: a downgrade of several keys that cannot lower one of them lowers none"(bench) {
    const [a, b] = await bench.two();
    const lease = await a.acquire(["p", "q"]);
    const inner = await lease.acquire("q/inner");
    await refusal(lease.downgrade(), "E_LOCK_ORDER");
    assert.equal(await isFree(b, "p", { mode: "read" }), false);
    assert.equal(await lease.commit(() => "still a writer of both"), "still a writer of both");
    await inner.release();
    await lease.downgrade();
    assert.equal(await isFree(b, ["p", "q"], { mode: "read" }), true);
  },
};
