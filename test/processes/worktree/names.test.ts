/** What a snapshot may be called by: its id, a part of it, a tag. */
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openScene, outlineOf, type Scene } from "../../fixtures/worktree/worktree.fixture.js";

let scene: Scene;
beforeEach(async () => {
  scene = await openScene();
});
afterEach(() => scene.close());

const taken = async (...tags: readonly string[]): Promise<string> =>
  (await scene.worktrees.take("main", { tags })).snapshot_id;

describe("TREE-6: a snapshot by its tag", () => {
  it("is meant wherever an id is, when no other has the tag", async () => {
    const { worktrees, root, payload } = scene;
    scene.write({ file: "as it was" });
    const id = await taken("v1", "good");
    const before = outlineOf(payload);
    scene.write({ file: "as it is" });
    await taken("v2");
    expect(worktrees.info("v1").snapshot_id).toBe(id);
    expect(await worktrees.diff("good", "v2")).toMatchObject([{ change: "changed", path: "file" }]);
    expect(await worktrees.verify("v1")).toMatchObject({ ok: true, snapshots: 1 });
    expect(await worktrees.restore.toNew("v1", join(root, "copy"))).toMatchObject({ head: id });
    expect(await worktrees.restore.inPlace("v1", "main")).toMatchObject({ snapshot_id: id });
    expect(outlineOf(payload)).toEqual(before);
  });

  it("is refused when several have it, naming them, and when none has", async () => {
    const { worktrees } = scene;
    const ids = [await taken("nightly"), await taken("nightly")];
    const several = { code: "E_INVALID_ARGUMENT", details: { field: "id", found: ids } };
    const none = { code: "E_NOT_FOUND", next: ["holdfast history"] };
    expect(() => worktrees.info("nightly")).toThrow(expect.objectContaining(several));
    await expect(worktrees.restore.inPlace("nightly", "main")).rejects.toMatchObject(several);
    expect(() => worktrees.info("weekly")).toThrow(expect.objectContaining(none));
    for (const nonsense of ["", "../v1", "a b"])
      expect(() => worktrees.info(nonsense)).toThrow(expect.objectContaining({ code: "E_INVALID_ARGUMENT" }));
  });

  it("never stands in the way of an id, whole or in part", async () => {
    const { worktrees } = scene;
    const id = await taken();
    const end = id.slice(-8);
    const other = await taken(id, end);
    expect(worktrees.info(id).snapshot_id).toBe(id);
    expect(worktrees.info(end).snapshot_id).toBe(id);
    expect(worktrees.info(other).snapshot_id).toBe(other);
  });

  it("may read like a part of an id that nobody has", async () => {
    const id = await taken("beef");
    expect(scene.worktrees.info("beef").snapshot_id).toBe(id);
  });
});
