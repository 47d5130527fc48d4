import { describe, expect, it } from "vitest";
import { givenLocks, newKind } from "../../../src/features/jobs/kind.js";
import { unionOf } from "../../../src/features/jobs/scripts/kind-rules.js";

const handler = () => undefined;
const kindWith = (options: Parameters<typeof newKind>[0]) => newKind(options, (locks) => locks, handler);
const locksOf = (key: string) => () => [{ resource: key, mode: "write" }] as const;

describe("the definition of a kind", () => {
  it("records limits in milliseconds, and only what was said", () => {
    expect(kindWith({}).definition).toEqual({});
    expect(kindWith({ class: "cpu", attempts: 2, timeout: "1s", locks: [] }).definition).toEqual({
      class: "cpu",
      attempts: 2,
      timeout_ms: 1_000,
      locks: [],
    });
  });

  it("is refused when it cannot be used", () => {
    for (const options of [{ attempts: 0 }, { timeout: "1y" }, { class: "gpu" }])
      expect(() => kindWith(options as never)).toThrow(expect.objectContaining({ code: "E_INVALID_ARGUMENT" }));
  });

  // kills: hidden-function
  it("tells functions apart by their texts, and one whose text is hidden from all others", () => {
    const print = (locks: () => readonly never[]) => kindWith({ locks }).definition.locks;
    const one = () => [];
    expect(print(one)).toBe(print(one));
    expect(print(one)).not.toBe(print(() => one().slice()));
    expect(print(one.bind(null))).not.toBe(print(one.bind(null)));
  });
});

describe("the function of a kind", () => {
  it("receives the payload, and gives the locks", () => {
    const kind = kindWith({ locks: (payload) => locksOf(`map:${(payload as { map: string }).map}`)() });
    expect(givenLocks({ job: 1, kind: "k", payload: '{"map":"m1"}' }, kind)?.outcome).toEqual({
      locks: [{ resource: "map:m1", mode: "write" }],
    });
  });

  it("is called only where there is one", () => {
    expect(givenLocks({ job: 1, kind: "k", payload: "null" }, kindWith({ locks: locksOf("k")() }))).toBe(undefined);
    expect(givenLocks({ job: 1, kind: "k", payload: "null" }, undefined)).toBe(undefined);
  });
});

describe("a union of locks", () => {
  it("has of two modes for a key the stronger, and does not depend on the order of the others", () => {
    const own = [{ resource: "b", mode: "read" }] as const;
    const more = [
      { resource: "c", mode: "read" },
      { resource: "b", mode: "upgradeable" },
      { resource: "a", mode: "write" },
      { resource: "c", mode: "write" },
    ] as const;
    const all = ["upgradeable b", "write a", "write c"];
    for (const each of [more, [...more].reverse()])
      expect(unionOf(own, each).map(({ resource, mode }) => `${mode} ${resource}`)).toEqual(all);
  });
});
