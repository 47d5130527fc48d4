import { describe, expect, it } from "vitest";
import { ancestorsOf } from "../../../src/lock/key.js";
import { createNodeOrder, DEFAULT_LEVELS } from "../../../src/lock/order.js";
import { fc } from "../../fixtures/fast-check.fixture.js";
import { anyKey, KEYS, key } from "../../fixtures/lock/samples.fixture.js";

const order = createNodeOrder(DEFAULT_LEVELS);
const sorted = (...keys: string[]): string[] => keys.map(key).sort(order);

describe("the global order of nodes", () => {
  it("LOCK-11: levels first, in their order, wherever they are in the tree", () => {
    expect(sorted("zoo", "deep/er/sketch:s", "map:m", "a", "x/project:p", "sketch:s", "project:p")).toEqual([
      "project:p",
      "x/project:p",
      "map:m",
      "deep/er/sketch:s",
      "sketch:s",
      "a",
      "zoo",
    ]);
  });

  it("LOCK-11: other kinds after them by depth, then by the bytes of the key", () => {
    expect(sorted("b/c/d", "b", "a/z", "b/a", "a", "issue:42", "a.b")).toEqual([
      "a",
      "a.b",
      "b",
      "issue:42",
      "a/z",
      "b/a",
      "b/c/d",
    ]);
    expect(sorted("a0", "a/0", "a-", "a", "Z")).toEqual(["Z", "a", "a-", "a0", "a/0"]);
  });

  it("LOCK-11: the list of levels is the caller's", () => {
    const own = createNodeOrder(["city", "street"]);
    expect(["project:p", "street:s", "city:c"].map(key).sort(own)).toEqual(["city:c", "street:s", "project:p"]);
  });

  it("LOCK-13: is total: any two different nodes have one order, and it has no cycles", () => {
    fc.assert(
      fc.property(anyKey, anyKey, anyKey, (a, b, c) => {
        expect(Math.sign(order(a, b))).toBe(-Math.sign(order(b, a)) + 0);
        expect(order(a, b) === 0).toBe(a === b);
        if (order(a, b) < 0 && order(b, c) < 0) expect(order(a, c)).toBeLessThan(0);
      }),
    );
  });

  it("LOCK-11: without levels every ancestor comes before what is below it", () => {
    const plain = createNodeOrder([]);
    for (const each of KEYS.map(key))
      for (const ancestor of ancestorsOf(each)) expect(plain(ancestor, each)).toBeLessThan(0);
  });
});
