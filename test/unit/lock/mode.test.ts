import { describe, expect, it } from "vitest";
import type { Want } from "../../../src/lock/grant.js";
import { nodesOf } from "../../../src/lock/key.js";
import { conflictNode, markAt } from "../../../src/lock/marks.js";
import { ancestorMark, compatible, covers, type Mark, MODES, ownMark } from "../../../src/lock/mode.js";
import { fc } from "../../fixtures/fast-check.fixture.js";
import { anyWant, want } from "../../fixtures/lock/samples.fixture.js";

const MARKS: readonly Mark[] = ["IR", "IW", "R", "U", "W", "P"];

describe("marks", () => {
  it("LOCK-2, LOCK-3: the matrix", () => {
    const table = MARKS.map((row) => MARKS.map((column) => (compatible(row, column) ? "+" : "-")).join(""));
    expect(table).toEqual(["++++-+", "++---+", "+-++--", "+-+---", "------", "++---+"]);
  });

  it("LOCK-2: it does not matter who came first", () => {
    for (const one of MARKS) for (const other of MARKS) expect(compatible(one, other)).toBe(compatible(other, one));
  });

  it("LOCK-3: read marks its ancestors with intent-read, everything else with intent-write", () => {
    expect(MODES.map((mode) => ancestorMark({ mode, permits: null }))).toEqual(["IR", "IW", "IW"]);
    expect(MODES.map((mode) => ownMark({ mode, permits: null }))).toEqual(["R", "U", "W"]);
    expect([ownMark({ mode: "write", permits: 3 }), ancestorMark({ mode: "write", permits: 3 })]).toEqual(["P", "IW"]);
  });
});

describe("two holds", () => {
  /** The definition itself: some node where both leave a mark and the marks do not get along. */
  function conflictsSomewhere(one: Want, other: Want): boolean {
    return nodesOf(one.resource)
      .filter((node) => nodesOf(other.resource).includes(node))
      .some((node) => !compatible(markAt(one, node), markAt(other, node)));
  }

  it("LOCK-3: conflict exactly when their marks do at some node, and there", () => {
    fc.assert(
      fc.property(anyWant, anyWant, (one, other) => {
        const node = conflictNode(one, other);
        expect(node).toBe(conflictNode(other, one));
        expect(node !== null).toBe(conflictsSomewhere(one, other));
        if (node !== null) expect(compatible(markAt(one, node), markAt(other, node))).toBe(false);
      }),
      { numRuns: 2_000 },
    );
  });

  it("LOCK-3: siblings never conflict", () => {
    for (const mode of MODES)
      for (const other of MODES) expect(conflictNode(want("a/x", mode), want("a/y", other))).toBe(null);
  });
});

describe("a cover", () => {
  it("LOCK-10: whoever is kept out by what nests in it was kept out by the cover already", () => {
    fc.assert(
      fc.property(anyWant, anyWant, anyWant, (cover, nested, stranger) => {
        fc.pre(covers(cover, nested) && nodesOf(nested.resource).includes(cover.resource));
        fc.pre(stranger.permits === null);
        if (conflictNode(nested, stranger) !== null) expect(conflictNode(cover, stranger)).not.toBe(null);
      }),
      { numRuns: 2_000 },
    );
  });

  it("LOCK-16: a permit covers nothing and is covered by nothing", () => {
    const permit = { mode: "write", permits: 2 } as const;
    for (const mode of MODES) {
      expect(covers(permit, { mode, permits: null })).toBe(false);
      expect(covers({ mode, permits: null }, permit)).toBe(false);
    }
    expect(covers(permit, permit)).toBe(false);
  });
});
