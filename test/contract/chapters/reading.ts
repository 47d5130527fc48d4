import assert from "node:assert/strict";
import { undisturbed } from "../expect.fixture.js";
import { lineUp, placesFor } from "../queue.fixture.js";
import type { Chapter } from "../test-store.fixture.js";

/** Looking without taking anything. */
export const reading: Chapter = {
  async "LOCK-4: list pages through the keys in order, below a prefix if asked"(bench) {
    const [a, b] = await bench.two();
    const keys = ["b", "a/x", "a", "a/x/y", "a.b", "c/d"];
    for (const key of keys) await a.acquire(key, { mode: "read" });
    for (const key of ["a", "a"]) await b.acquire(key, { mode: "read" });
    const all = await b.list();
    assert.deepEqual(
      all.map((record) => record.resource),
      [...keys, "a", "a"].sort(),
    );
    const paged = [];
    for (
      let after = (await b.list({ limit: 1 }))[0];
      after !== undefined;
      after = (await b.list({ limit: 1, after }))[0]
    )
      paged.push(after);
    assert.deepEqual(paged, all);
    assert.deepEqual(
      (await b.list({ prefix: "a" })).map((record) => record.resource),
      ["a", "a", "a", "a/x", "a/x/y"],
    );
  },

  async "LOCK-4: inspect tells free from held, above, on and below"(bench) {
    const [a, b] = await bench.two();
    assert.deepEqual(await b.inspect("a/b"), {
      resource: "a/b",
      state: "free",
      grants: [],
      waiters: [],
      fencing_token: 0,
      profile: "default",
      permits: null,
    });
    const lease = await a.acquire("a/b");
    for (const key of ["a", "a/b", "a/b/c"]) {
      const status = await b.inspect(key);
      assert.equal(status.state, "held");
      assert.deepEqual(status.grants, lease.grants);
      assert.equal(status.fencing_token, lease.fencingToken);
    }
    assert.equal((await b.inspect("a/c")).state, "free");
  },

  async "LOCK-13: waits tells everybody in line once, in order, and whom each waits for"(bench) {
    const [a, b, c] = await bench.many(3);
    assert.ok(a && b && c);
    assert.deepEqual(await c.waits(), { holders: [], waiters: [] });
    await a.acquire("free");
    await undisturbed(async (key) => {
      const held = [await a.acquire(`${key}/x`), await a.acquire(`${key}-too`)];
      const requests = [() => b.acquire([`${key}-too`, `${key}/x`]), () => c.acquire(key, { mode: "read" })];
      const { asked, places } = await lineUp(a, key, requests);
      const { holders, waiters } = await c.waits();
      const { line } = await c.explain(key);
      const [first] = (await c.waits({ limit: 1 })).waiters;
      const isShown = places !== null && places.join() === (await placesFor(a, key)).join();
      if (isShown) {
        assert.deepEqual(
          holders,
          held.flatMap(({ grants }) => grants.map((grant) => ({ ...grant, state: "held" }))),
        );
        assert.deepEqual(waiters, line);
        assert.deepEqual(first, waiters[0]);
        assert.deepEqual(
          waiters.map(({ owner, position, waits_for }) => [owner, position, ...waits_for.map(({ id }) => id)]),
          [
            [b.owner, 1, ...held.map((lease) => lease.grants[0]?.lock_id)],
            [c.owner, 2, held[0]?.grants[0]?.lock_id, waiters[0]?.ticket_id],
          ],
        );
      }
      for (const lease of held) await lease.release();
      for (const lease of asked) await (await lease).release();
      return isShown ? "shown" : "disturbed";
    });
    assert.deepEqual(await c.waits(), { holders: [], waiters: [] });
  },

  async "LIB-1: watch shows every change at a key until its signal aborts"(bench) {
    const [a, b] = await bench.two();
    const stop = new AbortController();
    const states: string[] = [];
    for await (const status of b.watch("a/b", { signal: stop.signal })) {
      states.push(status.state);
      if (states.length === 1) {
        await (await a.acquire("a/other")).release();
        await a.acquire("a");
      }
      if (states.at(-1) === "held") stop.abort();
    }
    assert.deepEqual(states, ["free", "held"]);
  },
};
