/** A process killed between the rename that publishes a snapshot and the audit entry: whoever comes next adds the entry. */
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Holdfast, openHoldfast } from "../../../src/index.js";
import { openWorktrees, type Worktrees } from "../../../src/worktree.js";
import { copyOf, prepareStage, runVerb, type Stage } from "../../fixtures/worktree/crash-sweep.fixture.js";

describe("TREE-5: a snapshot that was published and not told of", () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await prepareStage("snapshot");
  }, 300_000);
  afterAll(() => stage.scene.close());

  async function comeNext(
    look: (worktrees: Worktrees, holdfast: Holdfast, id: string) => Promise<void>,
  ): Promise<void> {
    const root = copyOf(stage.scene.root, "untold");
    const renamed = stage.calls.findIndex((call) => /^renameSync .*staging\/[\w-]+$/.test(call)) + 1;
    expect(await runVerb("snapshot", root, renamed, "after", "kill")).toMatchObject({ killed: true });
    const holdfast = await openHoldfast({ root, owner: "agent:next", heart: "loop" });
    try {
      const worktrees = await openWorktrees(holdfast, { root, threads: 0 });
      const [, second] = worktrees.list();
      expect(await told(holdfast)).not.toContain(second?.snapshot_id);
      await look(worktrees, holdfast, second?.snapshot_id ?? "");
      expect((await told(holdfast)).filter((id) => id === second?.snapshot_id)).toHaveLength(1);
      expect(await holdfast.audit.verify()).toMatchObject({ ok: true });
      expect(readdirSync(join(root, ".holdfast/snapshots/staging"))).toEqual([]);
    } finally {
      await holdfast.close();
      rmSync(root, { recursive: true, force: true });
    }
  }

  const told = async (holdfast: Holdfast): Promise<unknown[]> =>
    (await holdfast.audit.list({ event: "snapshot" })).map(({ details }) => details.snapshot_id);

  // kills: tree-late-entry
  it("is told of by the next snapshot, once, as late; gc does not lose it", { timeout: 300_000 }, () =>
    comeNext(async (worktrees, holdfast, id) => {
      await worktrees.gc();
      const { snapshot_id: third, parent_id: parent } = await worktrees.take("main");
      expect(parent).toBe(id);
      await worktrees.take("main");
      expect((await told(holdfast)).slice(1, 3)).toEqual([id, third]);
      const entries = await holdfast.audit.list({ event: "snapshot" });
      expect(entries.map(({ details }) => details.late ?? false)).toEqual([false, true, false, false]);
      expect(entries[1]).toMatchObject({ owner: "agent:next", details: { taken_by: "agent:child" } });
    }),
  );

  // kills: tree-late-entry
  it("is told of by doctor --repair", { timeout: 300_000 }, () =>
    comeNext(async (worktrees, _holdfast, id) => {
      expect(await worktrees.check()).toMatchObject([{ kind: "orphan", path: expect.stringContaining(id) }]);
      expect(await worktrees.check({ repair: true })).toEqual([]);
    }),
  );
});
