import assert from "node:assert/strict";
import { MODES, type Mode } from "../../../src/index.js";
import { isFree } from "../expect.fixture.js";
import type { Bench, Chapter } from "../test-store.fixture.js";

/** One hold on a key, another above or below it: which modes get along, whichever came first. */
const ACROSS_LEVELS: Readonly<Record<Mode, Readonly<Record<Mode, boolean>>>> = {
  read: { read: true, upgradeable: false, write: false },
  upgradeable: { read: true, upgradeable: false, write: false },
  write: { read: false, upgradeable: false, write: false },
};

async function forEveryPair(
  bench: Bench,
  upper: string,
  lower: string,
  expected: (above: Mode, below: Mode) => boolean,
): Promise<void> {
  const [a, b] = await bench.two();
  for (const above of MODES)
    for (const below of MODES) {
      const top = await a.acquire(upper, { mode: above });
      assert.equal(
        await isFree(b, lower, { mode: below }),
        expected(above, below),
        `${below} ${lower} under ${above} ${upper}`,
      );
      await top.release();
      const bottom = await b.acquire(lower, { mode: below });
      assert.equal(
        await isFree(a, upper, { mode: above }),
        expected(above, below),
        `${above} ${upper} over ${below} ${lower}`,
      );
      await bottom.release();
    }
}

/** A lock covers its subtree, and conflicts are decided node by node. */
export const trees: Chapter = {
  // kills: read-above-write (memory)
  "LOCK-3: parent and child meet at the parent, whichever came first": (bench) =>
    forEveryPair(bench, "project:p", "project:p/map:m", (above, below) => ACROSS_LEVELS[above][below]),

  // kills: read-above-write (memory)
  "LOCK-3: so do a key and one far below it": (bench) =>
    forEveryPair(bench, "t/a", "t/a/b/c/d", (above, below) => ACROSS_LEVELS[above][below]),

  "LOCK-3: siblings never meet": (bench) => forEveryPair(bench, "t/a", "t/b", () => true),

  "LOCK-3: nor do different trees": (bench) => forEveryPair(bench, "t", "u/t", () => true),

  "LOCK-3: nor does a key whose name only begins alike": async (bench) => {
    for (const other of ["t/ab", "t/a.b", "t/a0", "t/a-", "t/a:x", "t/A"])
      await forEveryPair(bench, "t/a", other, () => true);
  },

  async "LOCK-3: a write below leaves the rest of the tree to others, but not the whole"(bench) {
    const [a, b] = await bench.two();
    await a.acquire("project:alpha/map:m1/sketch:s1");
    for (const mode of MODES) {
      for (const key of ["project:alpha", "project:alpha/map:m1"])
        assert.equal(await isFree(b, key, { mode }), false, `${mode} ${key}`);
      for (const key of ["project:alpha/map:m1/sketch:s2", "project:alpha/map:m2", "project:beta"])
        assert.equal(await isFree(b, key, { mode }), true, `${mode} ${key}`);
    }
  },

  async "LOCK-3: readers deep in a tree hold back a writer above them until the last has gone"(bench) {
    const [a, b] = await bench.two();
    const readers = await Promise.all(["t/a", "t/a/b", "t/c/d/e"].map((key) => a.acquire(key, { mode: "read" })));
    for (const reader of readers) {
      assert.equal(await isFree(b, "t"), false);
      assert.equal(await isFree(b, "t", { mode: "read" }), true);
      await reader.release();
    }
    assert.equal(await isFree(b, "t"), true);
  },
};
