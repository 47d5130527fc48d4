/** POL-2, POL-3 and POL-4 as commands. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openScene, type Scene } from "../../fixtures/command.fixture.js";

let scene: Scene;
beforeAll(async () => {
  scene = await openScene();
  const policy = { "map.paint": { about: "paint a map", locks: [{ key: "project:{project}", mode: "write" }] } };
  writeFileSync(join(scene.root, "holdfast.config.json"), JSON.stringify({ policy }));
});
afterAll(() => scene.close());

describe("policy explain", () => {
  it("POL-2: tells the locks without taking any", async () => {
    const data = await scene.data(["policy", "explain", "map.edit-objects", "project=a", "map=m", "--objects", "1001"]);
    expect(data).toEqual({
      operation: "map.edit-objects",
      about: "change objects of a map",
      locks: [{ resource: "project:a/map:m", mode: "write" }],
      whole_bulk: true,
      needs_approval: false,
    });
    expect((await scene.data(["lock", "list"])).grants).toEqual([]);
  });

  it("POL-1: lists all operations, the workspace's own too", async () => {
    const { operations } = await scene.data(["policy", "explain"]);
    expect(operations).toContainEqual({ operation: "map.calibrate", about: "change a map's calibration" });
    expect(operations).toContainEqual({ operation: "map.paint", about: "paint a map" });
  });

  it.each([
    ["E_POLICY_UNKNOWN", ["map.fold", "project=a"]],
    ["E_POLICY_AMBIGUOUS", ["map.view", "project=a"]],
    ["E_POLICY_AMBIGUOUS", ["project.import", "project=a"]],
  ])("POL-3: %s ends with 86", async (code, words) => {
    const { error, exit } = await scene.json(["policy", "explain", ...words]);
    expect([error.code, exit]).toEqual([code, 86]);
  });

  it("says what is wrong with an id", async () => {
    const { error, exit } = await scene.json(["policy", "explain", "map.view", "a"]);
    expect([error.code, error.details.field, exit]).toEqual(["E_INVALID_ARGUMENT", "ID", 64]);
  });
});

describe("approve", () => {
  it("POL-4: gives a person's approval a token, and an agent none", async () => {
    const words = ["approve", "map.delete", "project=a", "map=m", "--reason", "old"];
    const other = await scene.run([
      "approve",
      "map.delete",
      "project=a",
      "map=time",
      "--by",
      "user:ann",
      "--ttl",
      "1m",
    ]);
    expect(other.stderr).toMatch(/once, until [\d -]*\d\d:\d\d:\d\d: hand this token on\n$/);
    const { approval } = await scene.data([...words, "--by", "user:ann"]);
    expect(approval).toMatchObject({ resource: "approval/map.delete/project:a/map:m", owner: "user:ann" });
    expect(approval.metadata).toEqual({ operation: "map.delete", ids: { project: "a", map: "m" }, reason: "old" });
    expect(approval.approval_token).toMatch(/./);
    const refused = await scene.json([...words, "--by", "agent:a"]);
    expect([refused.error.code, refused.exit]).toEqual(["E_FORBIDDEN", 77]);
  });

  it("POL-4: says of what is approved already by whom it is, and how to take that back", async () => {
    const words = ["approve", "map.delete", "project=a", "map=twice"];
    const { approval } = await scene.data([...words, "--by", "user:ann"]);
    const { exit, stderr } = await scene.run([...words, "--by", "user:bob"]);
    expect([exit, stderr]).toEqual([
      75,
      expect.stringMatching(/^holdfast: map.delete project=a map=twice is approved already, by user:ann\n {2}held by/),
    ]);
    expect(stderr.trimEnd()).toMatch(new RegExp(`\n {2}holdfast lock break ${approval.resource} --reason "…"$`));
    await scene.data(["lock", "break", approval.resource, "--reason", "its token is lost"]);
    expect((await scene.data([...words, "--by", "user:bob"])).approval.owner).toBe("user:bob");
  });

  it("POL-4: does not take a lock of an agent for an approval", async () => {
    await scene.data(["lock", "acquire", "approval/map.delete/project:a/map:forged", "--owner", "agent:a"]);
    const { error } = await scene.json(["approve", "map.delete", "project=a", "map=forged", "--by", "user:ann"]);
    expect(error.message).toMatch(/^approval\/map.delete\/project:a\/map:forged is not free: held by agent:a/);
    expect(error.next).toEqual(["holdfast explain approval/map.delete/project:a/map:forged"]);
  });
});
