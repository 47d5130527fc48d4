/** The first use of worktrees in a workspace, stopped at each file operation; worktrees that are refused. */
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openHoldfast } from "../../../src/index.js";
import { openWorktrees } from "../../../src/worktree.js";
import { faults } from "../../fixtures/fault-injection.fixture.mjs";
import { openScene } from "../../fixtures/worktree/worktree.fixture.js";

// kills: tree-format-torn
it("TREE-1: whoever is killed while it makes the folders leaves a workspace that can be used", async () => {
  faults.skipSyncs();
  let points = 0;
  for (let at = 1, isOver = false; !isOver; at += 1) {
    const root = mkdtempSync(join(tmpdir(), "holdfast-first-use-"));
    const holdfast = await openHoldfast({ store: `memory:${root}`, heart: "loop" });
    faults.watch(root);
    faults.arm({ at, what: "torn" });
    await openWorktrees(holdfast, { root }).catch(() => undefined);
    isOver = !faults.disarm().stopped;
    points = at - 1;
    const worktrees = await openWorktrees(holdfast, { root });
    expect((await worktrees.trees.add("main")).head).toBe(null);
    expect(await worktrees.verify(null)).toMatchObject({ ok: true });
    await holdfast.close();
    rmSync(root, { recursive: true });
  }
  expect(points).toBeGreaterThan(8);
});

// kills: worktree-one-spelling
it("TREE-1: a worktree that is refused leaves no folder behind, least of all in another one", async () => {
  const root = mkdtempSync(join(tmpdir(), "holdfast-refused-"));
  const holdfast = await openHoldfast({ store: `memory:${root}`, heart: "loop" });
  const { trees } = await openWorktrees(holdfast, { root });
  await trees.add("main", { path: "payload" });
  writeFileSync(join(root, "file"), "");
  for (const [name, path] of [
    ["main", "other"],
    ["Main", "other"],
    ["inner", "payload/inner"],
    ["own", ".holdfast/own"],
    ["file", "file"],
  ] as const)
    await expect(trees.add(name, { path })).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT" });
  expect(readdirSync(root).sort()).toEqual([".holdfast", "file", "payload"]);
  expect(readdirSync(join(root, "payload"))).toEqual([]);
  expect(readdirSync(join(root, ".holdfast"))).toEqual(["snapshots"]);
  await holdfast.close();
  rmSync(root, { recursive: true });
});

// kills: tree-name-of-another
it("TREE-1: a worktree has no name that a file of another one has: a restore of both in place works", async () => {
  const scene = await openScene();
  try {
    const { worktrees, write } = scene;
    write({ a: "1" });
    const { snapshot_id: id } = await worktrees.take("main");
    write({ a: "2" });
    await worktrees.restore.inPlace(id, "main");
    for (const name of ["main.mark", "main.revert", "new-one.json"]) {
      await expect(worktrees.trees.add(name)).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT" });
      expect(existsSync(join(scene.root, name))).toBe(false);
      const to = join(scene.root, "restored");
      await expect(worktrees.restore.toNew(id, to, { name })).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT" });
    }
    const { worktree_id: other } = await worktrees.restore.toNew(id, join(scene.root, "main.marked"));
    expect(await worktrees.restore.inPlace(id, other)).toMatchObject({ worktree_id: "main.marked" });
    expect(await worktrees.check()).toEqual([]);
  } finally {
    await scene.close();
  }
});

// kills: tree-added-meanwhile
it("TREE-8: a restore leaves a worktree alone that was added meanwhile under its name, or around its folder", async () => {
  const scene = await openScene();
  try {
    const { worktrees, write, root } = scene;
    write({ large: Buffer.alloc(5 << 20, "x") });
    const { snapshot_id: id } = await worktrees.take("main");
    for (const [name, path] of [
      ["copy", "elsewhere"],
      ["outer", "place"],
    ] as const) {
      mkdirSync(join(root, "place"), { recursive: true });
      let adding: Promise<unknown> | null = null;
      const onProgress = (): void => {
        adding ??= worktrees.trees.add(name, { path });
      };
      const restoring = worktrees.restore.toNew(id, join(root, "place/copy"), { name: "copy", onProgress });
      await expect(restoring).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT" });
      expect(await adding).toMatchObject({ head: null });
      expect(worktrees.trees.get(name).head).toBe(null);
      expect(readdirSync(join(root, "place"))).toEqual([]);
      await worktrees.trees.remove(name);
    }
    expect(await worktrees.check()).toEqual([]);
  } finally {
    await scene.close();
  }
});

// kills: two-dots
it("TREE-1: a worktree whose folder begins with two dots lies in the workspace, and goes with it", async () => {
  const scene = await openScene();
  const copy = `${scene.root}-copy`;
  try {
    await scene.worktrees.trees.add("data", { path: "..data" });
    cpSync(scene.root, copy, { recursive: true });
    const { trees } = await openWorktrees(null, { root: copy });
    expect(trees.get("data").path).toBe(join(copy, "..data"));
  } finally {
    rmSync(copy, { recursive: true, force: true });
    await scene.close();
  }
});
