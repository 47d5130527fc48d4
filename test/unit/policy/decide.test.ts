import { describe, expect, it } from "vitest";
import { Policies } from "../../../src/features/policy/perform.js";
import { SHIPPED } from "../../../src/features/policy/shipped.js";

const policies = new Policies({ deployment: "single-node" });
const ALL = { project: "alpha", map: "m1", sketch: "s9" };
const PROJECT = "project:alpha";
const META = "project:alpha/meta";
const MAP = "project:alpha/map:m1";
const SKETCH = "project:alpha/map:m1/sketch:s9";

/** Only as much scope as the key has places for. */
function scopeOf(resource: string): Record<string, string> {
  return Object.fromEntries(Object.entries(ALL).filter(([kind]) => resource.includes(`${kind}:`)));
}

type Row = readonly [operation: string, mode: string, resource: string, objects?: number];

const ROWS: readonly Row[] = [
  ["project.edit", "write", PROJECT],
  ["project.recalculate", "write", PROJECT],
  ["project.permissions", "write", PROJECT],
  ["project.apply-template", "write", PROJECT],
  ["project.import", "write", PROJECT],
  ["project.delete", "write", PROJECT],
  ["project.view", "read", META],
  ["project.list", "read", META],
  ["project.query", "read", META],
  ["map.calibrate", "write", MAP],
  ["map.generate-tiles", "write", MAP],
  ["map.import-image", "write", MAP],
  ["map.edit-objects", "write", MAP, 1_001],
  ["map.edit-objects", "write", SKETCH, 1_000],
  ["map.delete", "write", MAP],
  ["map.view", "read", MAP],
  ["map.export", "read", MAP],
  ["map.render", "read", MAP],
  ["map.query", "read", MAP],
  ["sketch.create", "write", SKETCH],
  ["sketch.edit", "write", SKETCH],
  ["sketch.edit-objects", "write", SKETCH, 101],
  ["sketch.edit-objects", "write", SKETCH, 100],
  ["sketch.reassign", "write", SKETCH],
  ["sketch.delete", "write", SKETCH],
  ["sketch.view", "read", SKETCH],
  ["sketch.measure", "read", SKETCH],
  ["sketch.query", "read", SKETCH],
];

describe("the shipped policy", () => {
  it.for(ROWS)("POL-1: %s takes a %s lock on %s", ([operation, mode, resource, objects]) => {
    const scope = { ids: scopeOf(resource), ...(objects === undefined ? {} : { objects }) };
    expect(policies.explain(operation, scope).locks).toEqual([{ resource, mode }]);
  });

  it("POL-1: every row is in this table", () => {
    expect([...new Set(ROWS.map(([operation]) => operation))].sort()).toEqual(Object.keys(SHIPPED).sort());
  });

  it.each([
    ["map.edit-objects", 1_000, false],
    ["map.edit-objects", 1_001, true],
    ["sketch.edit-objects", 100, false],
    ["sketch.edit-objects", 101, true],
  ])("POL-1: %s of %d objects is one hold for the whole bulk: %s", (operation, objects, wholeBulk) => {
    const ids = operation.startsWith("map") && wholeBulk ? { project: "a", map: "m" } : ALL;
    expect(policies.explain(operation, { ids, objects }).wholeBulk).toBe(wholeBulk);
  });

  it("POL-4: what cannot be undone needs an approval, nothing else does", () => {
    const destructive = Object.keys(SHIPPED).filter((name) => SHIPPED[name]?.destructive);
    expect(destructive).toEqual(["project.delete", "map.delete", "sketch.delete"]);
    expect(policies.explain("map.delete", { ids: { project: "a", map: "m" } }).needsApproval).toBe(true);
    expect(policies.explain("map.view", { ids: { project: "a", map: "m" } }).needsApproval).toBe(false);
  });
});

describe("POL-3: stop instead of guess", () => {
  const refusal = (run: () => unknown): unknown => {
    try {
      return run();
    } catch (error) {
      return (error as { code?: string }).code;
    }
  };

  it.each([
    ["an operation nobody knows", "map.paint", { ids: ALL }, "E_POLICY_UNKNOWN"],
    ["a name of an object's own making", "constructor", { ids: {} }, "E_POLICY_UNKNOWN"],
    ["a missing id", "map.calibrate", { ids: { project: "a" } }, "E_POLICY_AMBIGUOUS"],
    ["an empty id", "map.calibrate", { ids: { project: "a", map: "" } }, "E_POLICY_AMBIGUOUS"],
    ["an id too many", "project.edit", { ids: ALL }, "E_POLICY_AMBIGUOUS"],
    ["no number of objects where it decides", "map.edit-objects", { ids: ALL }, "E_POLICY_AMBIGUOUS"],
    ["half an object", "map.edit-objects", { ids: ALL, objects: 0.5 }, "E_INVALID_ARGUMENT"],
    ["an id that makes no key", "project.edit", { ids: { project: "a b" } }, "E_INVALID_ARGUMENT"],
    ["an id that leads elsewhere", "project.edit", { ids: { project: "a/../b" } }, "E_INVALID_ARGUMENT"],
  ])("%s", (_, operation, scope, code) => {
    expect(refusal(() => policies.explain(operation, scope))).toBe(code);
  });

  it("an operation that spans nodes, when nobody has said whether there are several", () => {
    const undeclared = new Policies();
    expect(refusal(() => undeclared.explain("project.import", { ids: { project: "a" } }))).toBe("E_POLICY_AMBIGUOUS");
    expect(undeclared.explain("project.edit", { ids: { project: "a" } }).locks).toHaveLength(1);
  });
});

describe("POL-1: a workspace's own rules", () => {
  const rule = { about: "paint a map", locks: [{ key: "project:{project}/map:{map}", mode: "write" }] } as const;

  it("stand beside the shipped ones", () => {
    const own = new Policies({ operations: { "map.paint": rule } });
    expect(own.explain("map.paint", { ids: { project: "a", map: "m" } }).locks[0]?.resource).toBe("project:a/map:m");
    expect(own.explain("map.view", { ids: { project: "a", map: "m" } }).locks).toHaveLength(1);
  });

  it.each([
    ["a shipped rule", { "map.view": rule }],
    ["a name without a group", { paint: rule }],
    ["no lock", { "map.paint": { ...rule, locks: [] } }],
    ["a mode there is not", { "map.paint": { ...rule, locks: [{ key: "a", mode: "exclusive" }] } }],
    ["two modes", { "map.paint": { ...rule, locks: [...rule.locks, { key: "a", mode: "read" }] } }],
    ["a pattern that makes no key", { "map.paint": { ...rule, locks: [{ key: "a b", mode: "read" }] } }],
    ["a field there is not", { "map.paint": { ...rule, lock: 1 } }],
    ["nothing for people", { "map.paint": { locks: rule.locks } }],
    ["half a threshold", { "map.paint": { ...rule, above: [{ locks: rule.locks }] } }],
  ])("are checked when they are loaded: %s", (_, operations) => {
    expect(() => new Policies({ operations: operations as never })).toThrow(
      expect.objectContaining({ code: "E_CONFIG" }),
    );
  });
});
