import { describe, expect, it } from "vitest";
import { lockIdPrefix, newLockId } from "../../../src/lock/lock-id.js";

describe("ids of grants", () => {
  it("LOCK-4: are UUIDs, each another", () => {
    const ids = Array.from({ length: 10_000 }, () => newLockId("key"));
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("begin alike on one key and, as far as anybody will see, otherwise on every other", () => {
    const prefixes = new Set<string>();
    for (let at = 0; at < 100_000; at += 1) {
      const key = at % 2 === 0 ? `job:${at}` : `project:p/map:${at.toString(36)}`;
      expect(newLockId(key).startsWith(lockIdPrefix(key))).toBe(true);
      prefixes.add(lockIdPrefix(key));
    }
    expect(prefixes.size).toBe(100_000);
  });

  it("stay the same between versions: grants are found by them", () => {
    expect(lockIdPrefix("bench")).toBe("05d269dd-37ca-89a1");
    expect(lockIdPrefix("project:p")).toBe(lockIdPrefix(["project", "p"].join(":")));
  });
});
