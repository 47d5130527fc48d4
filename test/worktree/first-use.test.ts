/** The first use of worktrees in a workspace, stopped at each file operation. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openHoldfast } from "../../src/index.js";
import { openWorktrees } from "../../src/worktree/index.js";
import { faults } from "../fixtures/fault-injection.mjs";

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
