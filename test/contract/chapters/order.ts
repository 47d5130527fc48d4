import assert from "node:assert/strict";
import { contentionOf, isFree, refusal, untilWaiting } from "../expect.fixture.js";
import type { Chapter } from "../test-store.fixture.js";

/** Several keys at once, and one after the other. */
export const order: Chapter = {
  async "LOCK-11: several keys are taken all or none"(bench) {
    const [a, b] = await bench.two();
    const held = await b.acquire("m/2");
    await refusal(a.acquire(["k/1", "m/2", "z/3"], { wait: 0 }), "E_LOCK_CONFLICT");
    await refusal(a.acquire(["k/1", "m/2", "z/3"], { wait: 100 }), "E_LOCK_TIMEOUT");
    assert.deepEqual(await b.list(), held.grants);
    await held.release();
    const all = await a.acquire(["z/3", "m/2", "k/1"]);
    assert.deepEqual(all.keys, ["z/3", "m/2", "k/1"]);
    for (const key of all.keys) assert.equal(await isFree(b, key), false);
    await all.release();
    assert.deepEqual(await b.list(), []);
  },

  async "LOCK-11: a request for several waits in one piece and takes nothing before it has all"(bench) {
    const [a, b] = await bench.two();
    const held = [await b.acquire("m"), await b.acquire("p")];
    const asked = a.acquire(["k", "m", "p"]);
    for (const lease of held) {
      await untilWaiting(b, "k", 1);
      assert.deepEqual((await b.inspect("k")).grants, []);
      await lease.release();
    }
    assert.deepEqual((await asked).keys, ["k", "m", "p"]);
  },

  async "LOCK-11: fencing tokens follow the global order, answers the order asked for"(bench) {
    const [a, b] = await bench.two();
    const lease = await a.acquire(["t/x/y", "t/b", "t/sketch:s", "t/map:m", "t/a", "t/project:p"], { mode: "read" });
    const byToken = lease.grants.toSorted((one, other) => one.fencing_token - other.fencing_token);
    assert.deepEqual(
      byToken.map((record) => record.resource),
      ["t/project:p", "t/map:m", "t/sketch:s", "t/a", "t/b", "t/x/y"],
    );
    assert.equal((await b.list()).length, 6);
  },

  async "LOCK-11: whoever holds something waits for what comes later"(bench) {
    const [a, b] = await bench.two();
    const first = await a.acquire("a");
    const later = await b.acquire("b");
    const second = first.acquire("b");
    await untilWaiting(b, "b", 1);
    await later.release();
    assert.deepEqual((await second).keys, ["b"]);
  },

  async "LOCK-11: what a request was made within counts as held as long as what it gave, not for good"(bench) {
    const [a, b] = await bench.two();
    const lent = await b.acquire("z");
    const borrowed = await a.borrow("z", lent.token);
    const first = await a.acquire("k");
    const taken = await b.acquire("y");
    await refusal(first.acquire("y", { within: [borrowed] }), "E_LOCK_ORDER");
    const inner = await first.acquire("z/1", { within: [borrowed] });
    await refusal(first.acquire("y", { wait: "1h" }), "E_LOCK_ORDER");
    await inner.release();
    await lent.release();
    const second = first.acquire("y");
    await untilWaiting(b, "y", 1);
    await taken.release();
    assert.deepEqual((await second).keys, ["y"]);
  },

  async "LOCK-11: what the first lease of a client was made within counts no longer than that lease"(bench) {
    const [a, b] = await bench.two();
    const lent = await b.acquire("z");
    const borrowed = await a.borrow("z", lent.token);
    const first = await a.acquire("k", { within: [borrowed] });
    const second = await first.acquire("m");
    const taken = await b.acquire("y");
    await refusal(second.acquire("y", { wait: "1h" }), "E_LOCK_ORDER");
    await first.release();
    await lent.release();
    const third = second.acquire("y");
    await untilWaiting(b, "y", 1);
    await taken.release();
    assert.deepEqual((await third).keys, ["y"]);
  },

  async "LOCK-11: what comes earlier is granted when free, else E_LOCK_ORDER at once"(bench) {
    const [a, b] = await bench.two();
    const late = await a.acquire("m");
    const free = await late.acquire("a");
    await free.release();
    const held = await b.acquire("a");
    const report = await contentionOf(late.acquire("a", { wait: "1h" }), "E_LOCK_ORDER");
    assert.deepEqual([report.resource, report.owner], ["a", b.owner]);
    assert.equal((await b.inspect("a")).waiters.length, 0);
    assert.equal(late.state, "held");
    await held.release();
    await (await late.acquire("a", { wait: 0 })).release();
  },

  async "LOCK-11: blocked at one earlier key is enough, also among several"(bench) {
    const [a, b] = await bench.two();
    const middle = await a.acquire("m");
    await b.acquire(["c", "x"]);
    await refusal(middle.acquire(["c", "x"], { wait: "1h" }), "E_LOCK_ORDER");
    const waiting = refusal(middle.acquire(["d", "x"], { wait: 100 }), "E_LOCK_TIMEOUT");
    await waiting;
  },

  async "LOCK-11: levels come before other kinds, and above them; ancestors count as nodes of their own"(bench) {
    const [a, b] = await bench.two();
    await b.acquire(["project:p", "map:m", "sketch:s", "zoo"], { mode: "write" });
    const inOrder = ["project:a", "map:a", "sketch:a", "zoo2"];
    const later = { "project:a": 4, "map:a": 3, "sketch:a": 2, zoo2: 0 } as const;
    const asked = ["zoo", "sketch:s", "map:m", "project:p"];
    for (const key of inOrder as (keyof typeof later)[]) {
      const held = await a.acquire(key);
      for (const [at, want] of asked.entries()) {
        const code = at < later[key] ? "E_LOCK_TIMEOUT" : "E_LOCK_ORDER";
        await refusal(held.acquire(want, { wait: 1 }), code);
      }
      await held.release();
    }
    const deep = await a.acquire("a/b/c");
    await b.acquire("z/z");
    await refusal(deep.acquire("z/z", { wait: 1 }), "E_LOCK_ORDER");
  },

  async "LOCK-11: two clients that take the same two keys crosswise do not deadlock"(bench) {
    const [a, b] = await bench.two();
    const [hasA, hasB] = [await a.acquire("a"), await b.acquire("b")];
    const forward = hasA.acquire("b");
    await refusal(hasB.acquire("a"), "E_LOCK_ORDER");
    await hasB.release();
    assert.deepEqual((await forward).keys, ["b"]);
  },

  async "LOCK-11, LOCK-13: a wait is judged anew by what its client has got meanwhile"(bench) {
    const [a, b] = await bench.two();
    const hasA = await a.acquire("a");
    const hasM = await b.acquire("m");
    const refused = refusal(hasA.acquire("m"), "E_LOCK_ORDER");
    await untilWaiting(b, "m", 1);
    const hasZ = await hasA.acquire("z");
    const crosswise = hasM.acquire("z");
    await refused;
    await hasZ.release();
    await crosswise;
  },

  async "LOCK-11: strict order refuses an earlier key even when it is free"(bench) {
    const a = await bench.client({ order: "strict" });
    const b = await bench.client();
    const held = await a.acquire("m");
    await refusal(held.acquire("a"), "E_LOCK_ORDER");
    await refusal(held.acquire(["a", "z"]), "E_LOCK_ORDER");
    assert.deepEqual(await b.list(), held.grants);
    await (await held.acquire("z", { wait: 0 })).release();
    await (await held.acquire("m/below", { wait: 0 })).release();
    await (await a.acquire("a", { wait: 0 })).release();
  },
};
