import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { retire } from "../../../src/features/worktree/collect/gc.js";
import { openHoldfast } from "../../../src/index.js";
import { openWorktrees } from "../../../src/worktree.js";
import { copyOf } from "../../fixtures/worktree/crash-sweep.fixture.js";
import {
  firstMark,
  type Interrupted,
  killSettling,
  lastPut,
  prepareInterrupted,
} from "../../fixtures/worktree/unfinished-restore.fixture.js";
import { outlineOf } from "../../fixtures/worktree/worktree.fixture.js";

describe("TREE-8: a restore in place that was killed half way", () => {
  let scene: Interrupted;
  beforeAll(async () => {
    scene = await prepareInterrupted();
  }, 300_000);
  afterAll(() => scene.stage.scene.close());

  it("is finished by --resume, also when that is killed too", { timeout: 300_000 }, async () => {
    expect(await killSettling(scene, "settle", (calls) => [lastPut(calls)])).toBe(1);
  });

  // kills: restore-payload-hold
  it("keeps the files of its payload from others until it is settled", async () => {
    const root = await scene.newRoot();
    await using other = await openHoldfast({ root, owner: "agent:other" });
    expect(await other.tryAcquire("path/payload/a.txt")).toBeNull();
    const worktrees = await openWorktrees(other, { root });
    expect(await worktrees.restore.settle("main")).not.toBeNull();
    await (await other.acquire("path/payload/a.txt", { wait: 0 })).release();
    rmSync(root, { recursive: true, force: true });
  });

  // kills: tree-revert-note
  it("is undone by --revert, also when that is killed and asked for again", { timeout: 300_000 }, async () => {
    expect(await killSettling(scene, "revert", (calls) => [Math.floor(calls.length / 2), lastPut(calls)])).toBe(2);
  });

  // kills: tree-revert-done
  it("is undone once, also when --revert is killed while it tidies up", { timeout: 300_000 }, async () => {
    const tidying = (calls: readonly string[]): readonly number[] => [
      1 + calls.findLastIndex((call) => /^rmSync .*applied$/.test(call)),
    ];
    expect(await killSettling(scene, "revert", tidying)).toBe(1);
  });

  // kills: tree-restore-told-once
  it("is on record once, also when it is killed before it knows", { timeout: 300_000 }, async () => {
    const marks = (calls: readonly string[]): readonly number[] => [firstMark(calls)];
    expect(scene.calls.settle[firstMark(scene.calls.settle) - 1]).toMatch(/^openSync .*applied\.new/);
    expect(await killSettling(scene, "settle", marks)).toBe(1);
  });

  // kills: tree-place-inside
  it("is settled in a copy of the workspace without a touch of the original", { timeout: 300_000 }, async () => {
    const root = await scene.newRoot();
    const copy = copyOf(root, "copy");
    retireWanted(copy);
    const before = outlineOf(join(root, "payload"));
    const holdfast = await openHoldfast({ root: copy, owner: "agent:next", heart: "loop" });
    try {
      await (await openWorktrees(holdfast, { root: copy, threads: 0 })).restore.settle("main");
      expect(outlineOf(join(root, "payload"))).toEqual(before);
      expect(outlineOf(join(copy, "payload"))).toEqual(scene.stage.first);
    } finally {
      await holdfast.close();
      for (const folder of [root, copy]) rmSync(folder, { recursive: true, force: true });
    }
  });
});

/** What was decided is carried out, also when the snapshot has been removed since. */
function retireWanted(root: string): void {
  const snapshots = join(root, ".holdfast/snapshots");
  const journal = JSON.parse(readFileSync(join(snapshots, "restores/main/journal.json"), "utf8"));
  retire(join(snapshots, "taken", (journal as { snapshot_id: string }).snapshot_id));
}
