import assert from "node:assert/strict";
import type { Chapter } from "../bench.js";

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
