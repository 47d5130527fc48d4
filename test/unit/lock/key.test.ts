import { describe, expect, it } from "vitest";
import {
  ancestorsOf,
  depthOf,
  isWithin,
  kindOf,
  MAX_KEY_BYTES,
  MAX_SEGMENT_BYTES,
  MAX_SEGMENTS,
  nodesOf,
  parseKey,
  treeOf,
} from "../../../src/lock/key.js";
import { fc } from "../../fixtures/fast-check.fixture.js";
import { key } from "../../fixtures/lock/samples.fixture.js";

const segment = fc
  .stringMatching(/^[A-Za-z0-9._\-:@+=,~%]{1,20}$/)
  .filter((text) => text !== "." && text !== ".." && text.length > 0);
const anyPath = fc.array(segment, { minLength: 1, maxLength: 8 });

describe("a key", () => {
  it("LOCK-1: 1 to 64 segments of at most 128 bytes, 1,024 in all", () => {
    expect(parseKey("x".repeat(MAX_SEGMENT_BYTES))).toHaveLength(MAX_SEGMENT_BYTES);
    expect(() => parseKey("x".repeat(MAX_SEGMENT_BYTES + 1))).toThrow("longer than 128 bytes");
    expect(depthOf(parseKey(Array(MAX_SEGMENTS).fill("d").join("/")))).toBe(MAX_SEGMENTS);
    expect(() =>
      parseKey(
        Array(MAX_SEGMENTS + 1)
          .fill("d")
          .join("/"),
      ),
    ).toThrow("more than 64 segments");
    const longest = `${"x".repeat(127)}/`.repeat(8).slice(0, MAX_KEY_BYTES);
    expect(() => parseKey(longest)).toThrow("empty segment");
    expect(parseKey(`${longest.slice(0, -1)}x`)).toHaveLength(MAX_KEY_BYTES);
    expect(() => parseKey(`${longest.slice(0, -1)}xx`)).toThrow("longer than 1024 bytes");
  });

  it.each(["", "/", "a/", "/a", "a//b", ".", "..", "a/..", "./a", "a b", "a\tb", "ä", "a?", "a\\b", "a|b", "a'b", '"'])(
    "LOCK-1: %j is refused, naming the field",
    (text) => {
      expect(() => parseKey(text, "keys[1]")).toThrow(
        expect.objectContaining({ code: "E_INVALID_ARGUMENT", details: { field: "keys[1]" } }),
      );
    },
  );

  it.each([undefined, null, 7, {}, ["a"]])("LOCK-1: %j is no string and refused", (value) => {
    expect(() => parseKey(value)).toThrow(expect.objectContaining({ code: "E_INVALID_ARGUMENT" }));
  });

  it("LOCK-1: exactly the strings made of allowed segments are keys", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          anyPath.map((path) => path.join("/")),
          fc.string({ maxLength: 30 }),
        ),
        (text) => {
          const allowed =
            text !== "" &&
            text.split("/").every((part) => /^[\w.\-:@+=,~%]+$/.test(part) && part !== "." && part !== "..");
          if (allowed) expect(parseKey(text)).toBe(text);
          else expect(() => parseKey(text)).toThrow();
        },
      ),
    );
  });

  it("its nodes run from the tree down to itself, each within the one before", () => {
    fc.assert(
      fc.property(anyPath, (path) => {
        const whole = key(path.join("/"));
        const nodes = nodesOf(whole);
        expect(nodes).toEqual(path.map((_, at) => path.slice(0, at + 1).join("/")));
        expect(ancestorsOf(whole)).toEqual(nodes.slice(0, -1));
        expect(treeOf(whole)).toBe(path[0]);
        expect(depthOf(whole)).toBe(path.length);
        for (const [at, node] of nodes.entries())
          for (const lower of nodes.slice(at)) expect(isWithin(lower, node)).toBe(true);
      }),
    );
  });

  it("being within is a matter of whole segments", () => {
    expect(isWithin("a/b", "a")).toBe(true);
    for (const [inner, outer] of [
      ["a", "a/b"],
      ["ab", "a"],
      ["a.b/c", "a"],
      ["b/a", "a"],
    ] as const)
      expect(isWithin(inner, outer)).toBe(false);
  });

  it("its kind is that of its last segment", () => {
    expect(kindOf(key("project:p/map:m"))).toBe("map");
    expect(kindOf(key("map:m/plain"))).toBe("");
    expect(kindOf(key("a:b:c"))).toBe("a");
    expect(kindOf(key(":x"))).toBe("");
  });
});
