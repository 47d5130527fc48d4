/** What gc removes, and what it never does; disks that are full or read-only. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { onlyOf } from "../../../src/features/worktree/collect/gc.js";
import { claimObjects, pinObjects } from "../../../src/features/worktree/collect/pins.js";
import { layoutOf } from "../../../src/features/worktree/layout.js";
import { openHoldfast } from "../../../src/index.js";
import { openWorktrees } from "../../../src/worktree.js";
import { canMount } from "../../fixtures/can-mount.fixture.js";
import { filesBelow, openScene, outlineOf, type Scene } from "../../fixtures/worktree/worktree.fixture.js";

let scene: Scene;
afterEach(async () => {
  vi.restoreAllMocks();
  await scene.close();
});

const inStaging = (): string[] => readdirSync(join(scene.root, ".holdfast/snapshots/staging"));

describe("TREE-9: gc", () => {
  it("frees what only removed snapshots used, and keeps what others share", async () => {
    scene = await openScene();
    const { worktrees, root } = scene;
    scene.write({ shared: "content of both" });
    await worktrees.trees.add("other");
    writeFileSync(join(root, "other/shared"), "content of both");
    writeFileSync(join(root, "other/own"), Buffer.alloc(2_000_000, "o"));
    const theirs = await worktrees.take("other");
    const ours = await worktrees.take("main");
    await worktrees.trees.remove("other", { snapshots: true });
    expect(worktrees.list().map((each) => each.snapshot_id)).toEqual([ours.snapshot_id]);
    await worktrees.gc();
    expect(await worktrees.verify(null)).toMatchObject({ ok: true, snapshots: 2 });
    await worktrees.restore.toNew(ours.snapshot_id, join(root, "copy"));
    expect(outlineOf(join(root, "copy"))).toEqual(outlineOf(scene.payload));
    for (const name of ["main", "copy"]) await worktrees.trees.remove(name, { snapshots: true });
    expect((await worktrees.gc()).folders).toBe(2);
    expect(existsSync(join(root, ".holdfast/snapshots/taken", theirs.snapshot_id))).toBe(false);
  });

  // kills: tree-removed-origin, tree-chain-kept
  it("TREE-10 what other worktrees come from stays, and one whose origin was removed goes on without it", async () => {
    scene = await openScene();
    const { worktrees, root } = scene;
    const first = await worktrees.take("main");
    const second = await worktrees.take("main");
    await worktrees.restore.toNew(second.snapshot_id, join(root, "copy"));
    const copied = await worktrees.take("copy");
    const third = await worktrees.take("main");
    await worktrees.restore.toNew(third.snapshot_id, join(root, "late"));
    await worktrees.trees.remove("main", { snapshots: true });
    await worktrees.gc();
    const ids = worktrees.list().map((each) => each.snapshot_id);
    expect(ids).toEqual([first.snapshot_id, second.snapshot_id, copied.snapshot_id]);
    expect(worktrees.trees.get("late").head).toBe(null);
    expect(await worktrees.take("late", { onProgress: () => undefined })).toMatchObject({ parent_id: null });
    await worktrees.trees.add("main", { path: "payload" });
    expect(await worktrees.take("main")).toMatchObject({ parent_id: second.snapshot_id });
    expect(await worktrees.check()).toEqual([]);
  });

  // kills: tree-listed-by-calendar
  it("TREE-10 none is listed before the one it comes from, nor taken out after it, however the clock is set", async () => {
    scene = await openScene();
    const { worktrees } = scene;
    const taken: string[] = [];
    const now = Date.now();
    for (const ahead of [3_600_000, 0, -3_600_000, 60_000]) {
      vi.spyOn(Date, "now").mockReturnValue(now + ahead);
      taken.push((await worktrees.take("main")).snapshot_id);
    }
    expect(worktrees.list().map((each) => each.snapshot_id)).toEqual(taken);
    expect(onlyOf("main", worktrees.list())).toEqual(taken.reverse());
  });

  // kills: snapshot-pin
  it("removes nothing while a snapshot runs, and waits for it when asked to", async () => {
    scene = await openScene();
    scene.write(Object.fromEntries(Array.from({ length: 3_000 }, (_, at) => [`d${at % 9}/f${at}`, `content ${at}`])));
    const { worktrees } = await scene.another("agent:two");
    let meanwhile: Promise<unknown> | null = null;
    let waited: Promise<unknown> | null = null;
    const taken = await scene.worktrees.take("main", {
      onProgress: () => {
        meanwhile ??= worktrees.gc({ wait: 0 }).catch((error: unknown) => error);
        waited ??= worktrees.gc({ wait: "60s" });
      },
    });
    expect(await meanwhile).toMatchObject({ code: "E_LOCK_CONFLICT" });
    expect(await waited).toMatchObject({ folders: 0 });
    expect(await worktrees.verify(taken.snapshot_id)).toMatchObject({ ok: true });
  });

  // kills: tree-gc-turns
  it("a gc that waits long lets others in meanwhile", async () => {
    scene = await openScene();
    const layout = layoutOf(scene.root);
    const pin = await pinObjects(layout);
    let isOver = false;
    const waiting = claimObjects(layout, 30_000, 40).finally(() => {
      isOver = true;
    });
    for (let time = 0; time < 3; time += 1) (await pinObjects(layout))[Symbol.dispose]();
    expect(isOver).toBe(false);
    pin[Symbol.dispose]();
    (await waiting)[Symbol.dispose]();
  });

  // kills: gc-large-named
  it("frees large files of a removed snapshot beside what others use, also those that no index names", async () => {
    scene = await openScene();
    const { worktrees, root } = scene;
    const large = (letter: string): Buffer => Buffer.alloc(9_000_000, letter);
    scene.write({ shared: "content of both", "large shared": large("b") });
    await worktrees.trees.add("other");
    for (const [name, content] of Object.entries({ a: large("a"), b: large("b"), c: "content of both" }))
      writeFileSync(join(root, "other", name), content);
    const { snapshot_id: id } = await worktrees.take("other");
    const { snapshot_id: ours } = await worktrees.take("main");
    const largeFiles = (): string[] => filesBelow(join(root, ".holdfast/snapshots/taken", id, "large"));
    await worktrees.trees.remove("other", { snapshots: true });
    expect(largeFiles()).toHaveLength(2);
    expect((await worktrees.gc()).bytes).toBeGreaterThanOrEqual(9_000_000);
    expect(largeFiles()).toHaveLength(1);
    expect((await worktrees.gc()).bytes).toBe(0);
    expect(await worktrees.check()).toEqual([]);
    expect(await worktrees.verify(null)).toMatchObject({ ok: true, findings: [] });
    scene.write({ again: large("a") }); // What is gone is stored again, not taken for stored.
    const again = await worktrees.take("main");
    expect(await worktrees.verify(null)).toMatchObject({ ok: true, findings: [] });
    for (const each of [ours, again.snapshot_id]) await worktrees.restore.toNew(each, join(root, `at-${each}`));
    expect(outlineOf(join(root, `at-${again.snapshot_id}`))).toEqual(outlineOf(scene.payload));
  });

  it("TREE-10 what a crash left is reported, and tidied by repair", async () => {
    scene = await openScene();
    const { worktrees, root } = scene;
    await worktrees.take("main");
    const left = join(root, ".holdfast/snapshots/staging/20200101-000000000-00000000");
    mkdirSync(left);
    writeFileSync(join(left, "pack-0"), "left");
    expect(await worktrees.check()).toEqual([
      { kind: "orphan", path: left, problem: "a snapshot that was never finished", repairable: true },
    ]);
    expect(await worktrees.check({ repair: true })).toEqual([]);
    expect(inStaging()).toEqual([]);
    const [first] = worktrees.list();
    const second = await worktrees.take("main");
    rmSync(join(root, ".holdfast/snapshots/taken", first?.snapshot_id ?? ""), { recursive: true });
    const kinds = (await worktrees.check()).map((fault) => fault.kind);
    expect(kinds).toContain("broken_chain");
    expect(kinds).toContain("missing_part");
    expect(second.parent_id).toBe(first?.snapshot_id);
  });

  // kills: restore-intent-of-copy
  it("TREE-10 repair of a copied workspace removes nothing of a restore that runs in the original", async () => {
    scene = await openScene();
    const { worktrees, root, payload } = scene;
    const copy = `${root}-copy`;
    scene.write(Object.fromEntries(Array.from({ length: 400 }, (_, at) => [`file-${at}`, `content ${at}`])));
    const { snapshot_id: id } = await worktrees.take("main");
    const staged = (folder: string): string[] => readdirSync(folder).filter((name) => name.startsWith(".restored."));
    const onProgress = (): void => {
      if (existsSync(copy)) return;
      execFileSync("cp", ["-a", root, copy]);
      expect(staged(copy)).toHaveLength(1);
      repairElsewhere(copy);
    };
    try {
      await worktrees.restore.toNew(id, join(root, "restored"), { onProgress });
      expect(outlineOf(join(root, "restored"))).toEqual(outlineOf(payload));
      expect(staged(copy)).toEqual([]);
    } finally {
      rmSync(copy, { recursive: true, force: true });
    }
  });
});

/** By another process, until it is done. */
function repairElsewhere(root: string): void {
  const [library, feature] = ["index.js", "worktree.js"].map(
    (name) => new URL(`../../../dist/${name}`, import.meta.url).href,
  );
  const script = `
    import { openHoldfast } from ${JSON.stringify(library)};
    import { openWorktrees } from ${JSON.stringify(feature)};
    const root = ${JSON.stringify(root)};
    const holdfast = await openHoldfast({ root, owner: "admin:two", heart: "loop" });
    await (await openWorktrees(holdfast, { root })).check({ repair: true });
    await holdfast.close();`;
  execFileSync(process.execPath, ["--input-type=module", "-e", script]);
}

describe.runIf(canMount())("disks (needs the right to mount)", () => {
  it("TREE-5 a full disk fails with E_IO, leaves nothing, and works again when there is room", async () => {
    scene = await openScene();
    const disk = join(scene.root, "disk");
    mkdirSync(disk);
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=5m", "tmpfs", disk]);
    mkdirSync(join(disk, ".holdfast"));
    const holdfast = await openHoldfast({ store: `sqlite:${scene.root}/locks.db`, heart: "loop" });
    try {
      const worktrees = await openWorktrees(holdfast, { root: disk, threads: 0 });
      await worktrees.trees.add("main", { path: scene.payload });
      scene.write({ "small/one": "one" });
      const first = await worktrees.take("main");
      scene.write({
        "large/a": Buffer.alloc(900_000, "a"),
        "large/b": Buffer.alloc(4_000_000, "b"),
        "large/c": Buffer.alloc(900_000, "c"),
      });
      await expect(worktrees.take("main")).rejects.toMatchObject({ code: "E_IO", details: { errno: "ENOSPC" } });
      expect(readdirSync(join(disk, ".holdfast/snapshots/staging"))).toEqual([]);
      expect(worktrees.list().map((each) => each.snapshot_id)).toEqual([first.snapshot_id]);
      rmSync(join(scene.payload, "large/b"));
      expect(await worktrees.take("main")).toMatchObject({ parent_id: first.snapshot_id });
      expect((await worktrees.verify(null)).ok).toBe(true);
    } finally {
      await holdfast.close();
      execFileSync("umount", ["-l", disk]);
    }
  });

  it("a read-only workspace can be read: history, info, diff, verify", async () => {
    scene = await openScene();
    scene.write({ file: "one" });
    const first = await scene.worktrees.take("main");
    scene.write({ file: "two" });
    const second = await scene.worktrees.take("main");
    execFileSync("mount", ["--bind", scene.root, scene.root]);
    try {
      execFileSync("mount", ["-o", "remount,ro,bind", scene.root]);
      const reading = await openWorktrees(null, { root: scene.root });
      expect(reading.list()).toHaveLength(2);
      expect(reading.info(first.snapshot_id).snapshot_id).toBe(first.snapshot_id);
      expect(await reading.diff(first.snapshot_id, second.snapshot_id)).toMatchObject([
        { path: "file", change: "changed" },
      ]);
      expect(await reading.verify(null)).toMatchObject({ ok: true });
    } finally {
      execFileSync("umount", ["-l", scene.root]);
    }
  });
});
