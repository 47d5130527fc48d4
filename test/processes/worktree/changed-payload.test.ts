/** Somebody has been at the payload since a restore in place decided what to do: it is finished all the same. */
import { chmodSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { applyStep } from "../../../src/features/worktree/restore/apply.js";
import { openHoldfast } from "../../../src/index.js";
import { openWorktrees, type Worktrees } from "../../../src/worktree.js";
import { type Interrupted, prepareInterrupted } from "../../fixtures/worktree/unfinished-restore.fixture.js";
import { outlineOf, writeTree } from "../../fixtures/worktree/worktree.fixture.js";

let scene: Interrupted;
beforeAll(async () => {
  scene = await prepareInterrupted();
}, 300_000);
afterAll(() => scene.stage.scene.close());

/** Half restored by a process that was killed, then changed by `meddle`. */
async function afterMeddling(
  meddle: (payload: string, root: string) => void,
  look: (worktrees: Worktrees, payload: string, root: string) => Promise<void>,
): Promise<void> {
  const root = await scene.newRoot();
  const payload = join(root, "payload");
  meddle(payload, root);
  const holdfast = await openHoldfast({ root, owner: "agent:next", heart: "loop" });
  try {
    await look(await openWorktrees(holdfast, { root, threads: 0 }), payload, root);
  } finally {
    await holdfast.close();
    rmSync(root, { recursive: true, force: true });
  }
}

function empty(payload: string): void {
  for (const name of readdirSync(payload)) rmSync(join(payload, name), { recursive: true });
}

describe("TREE-8: a restore in place that was killed, and a payload that changed since", () => {
  it("--resume goes on where everything was removed, and another restore brings all of it", { timeout: 60_000 }, () =>
    afterMeddling(empty, async (worktrees, payload) => {
      const { snapshot_id: id } = (await worktrees.restore.settle("main")) ?? {};
      expect(readdirSync(payload)).toContain("deep.d");
      await worktrees.restore.inPlace(String(id), "main");
      expect(outlineOf(payload)).toEqual(scene.stage.first);
    }),
  );

  it("--revert does, too", { timeout: 60_000 }, () =>
    afterMeddling(empty, async (worktrees, payload) => {
      const { snapshot_id: id } = (await worktrees.restore.settle("main", { revert: true })) ?? {};
      expect(worktrees.info(String(id)).kind).toBe("rescue");
      expect(outlineOf(payload)).toEqual(scene.stage.before);
    }),
  );

  it("what has the name of a folder meanwhile is kept and named", { timeout: 60_000 }, () =>
    afterMeddling(
      (payload) => {
        for (const name of ["deep", "empty"]) rmSync(join(payload, name), { recursive: true });
        writeTree(payload, { deep: "work of somebody", empty: "more of it" });
      },
      async (worktrees, payload) => {
        const { kept = [] } = (await worktrees.restore.settle("main")) ?? {};
        expect(kept).toHaveLength(2);
        for (const name of ["deep", "empty"]) expect(statSync(join(payload, name)).isDirectory()).toBe(true);
      },
    ),
  );

  // kills: restore-way
  it("nothing is done through a link that leads out of the payload", { timeout: 60_000 }, () =>
    afterMeddling(
      (payload, root) => {
        for (const name of ["deep", "empty"]) {
          renameSync(join(payload, name), join(root, `moved-${name}`));
          symlinkSync(`../moved-${name}`, join(payload, name));
        }
        chmodSync(join(root, "moved-empty"), 0o711);
      },
      async (worktrees, payload, root) => {
        const before = ["deep", "empty"].map((name) => outlineOf(join(root, `moved-${name}`)));
        const { kept = [] } = (await worktrees.restore.settle("main")) ?? {};
        expect(["deep", "empty"].map((name) => outlineOf(join(root, `moved-${name}`)))).toEqual(before);
        expect(kept).toHaveLength(2);
        expect(statSync(join(payload, "empty/inner")).isDirectory()).toBe(true);
      },
    ),
  );

  it(
    "a payload that is gone is said to be, and with an empty folder in its place it goes on",
    { timeout: 60_000 },
    () =>
      afterMeddling(
        (payload) => rmSync(payload, { recursive: true }),
        async (worktrees, payload) => {
          const next = [expect.stringContaining("make an empty folder there; then `holdfast restore --resume main`")];
          await expect(worktrees.restore.settle("main")).rejects.toMatchObject({ code: "E_IO", next });
          mkdirSync(payload);
          expect(await worktrees.restore.settle("main")).toMatchObject({ worktree_id: "main" });
        },
      ),
  );
});

describe("TREE-8: a step of a restore in place", () => {
  // kills: restore-mode-of-link
  it("sets the mode of a file, and not of what a link leads to", () => {
    const { root } = scene.stage.scene;
    const payload = join(root, "stepped");
    mkdirSync(payload);
    writeFileSync(join(root, "outside"), "", { mode: 0o600 });
    symlinkSync("../outside", join(payload, "was-a-file"));
    const place = {
      restore_id: "1",
      worktree_id: "main",
      payload,
      stage: join(root, "stage"),
      kept: join(root, "kept"),
    };
    const step = { op: "file", mode: 0o777, mtime_us: 0 } as const;
    for (const path of ["was-a-file", "gone", "gone/too"]) applyStep(place, { ...step, path });
    for (const path of ["was-a-file", "gone"]) applyStep(place, { op: "link", path, n: 1, to: "also-gone", was: null });
    applyStep(place, { op: "symlink", path: "gone", mtime_us: 0 });
    expect(statSync(join(root, "outside")).mode & 0o777).toBe(0o600);
    expect(readdirSync(payload)).toEqual(["was-a-file"]);
  });
});
