import { describe, expect, it } from "vitest";
import { assertAgree, checkSettings, DEFAULT_SETTINGS, profileOf } from "../../../src/lock/settings.js";

describe("settings", () => {
  it("STALE-1: projects are dal, worktrees lease, the rest default", () => {
    const profile = (key: string) => profileOf(key, DEFAULT_SETTINGS);
    expect(profile("project:p")).toBe("dal");
    expect(profile("project:p/map:m/sketch:s")).toBe("dal");
    expect(profile("worktree:main")).toBe("lease");
    expect(profile("deliverable:DEL-1")).toBe("default");
    expect(profile("projector:p")).toBe("default");
  });

  it("STALE-1: the longest prefix that fits decides, whatever the order", () => {
    for (const profiles of [
      { a: "lease", "a/b": "strict" },
      { "a/b": "strict", a: "lease" },
    ] as const) {
      expect(profileOf("a/b/c", { levels: [], profiles })).toBe("strict");
      expect(profileOf("a/c", { levels: [], profiles })).toBe("lease");
    }
  });

  it("LOCK-11, STALE-1: stating nothing agrees with anything, stating the same too", () => {
    expect(() => assertAgree(DEFAULT_SETTINGS, {})).not.toThrow();
    expect(() => assertAgree(DEFAULT_SETTINGS, { ...DEFAULT_SETTINGS })).not.toThrow();
    expect(() =>
      assertAgree(DEFAULT_SETTINGS, { profiles: { "worktree:": "lease", "project:": "dal" } }),
    ).not.toThrow();
  });

  it.each([
    ["levels", { levels: ["map", "project", "sketch"] }],
    ["levels", { levels: [] }],
    ["profiles", { profiles: {} }],
    ["profiles", { profiles: { "project:": "dal", "worktree:": "strict" } }],
  ] as const)("LOCK-11, STALE-1: other %s are E_CONFIG", (field, stated) => {
    expect(() => assertAgree(DEFAULT_SETTINGS, stated)).toThrow(
      expect.objectContaining({ code: "E_CONFIG", details: expect.objectContaining({ field }) }),
    );
  });

  it.each([
    { levels: ["a", "a"] },
    { levels: ["a b"] },
    { levels: [""] },
    { levels: [7 as unknown as string] },
    { profiles: { "": "lease" } as const },
    { profiles: { "a:": "sometimes" as "lease" } },
  ])("%j is refused", (settings) => {
    expect(() => checkSettings(settings)).toThrow(expect.objectContaining({ code: "E_INVALID_ARGUMENT" }));
  });
});
