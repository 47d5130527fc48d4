/** What comes back, and what is told when it cannot. */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  closeSync,
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { raiseMark } from "../../../src/files/target-mark.js";
import { openScene, outlineOf, type Scene, skippedIn, variedTree } from "../../fixtures/worktree/worktree.fixture.js";

let scene: Scene;

beforeEach(async () => {
  scene = await openScene();
});
afterEach(() => scene.close());

describe("TREE-7: everything comes back", () => {
  it("contents, modes, times, links, hard links, empty folders, odd names, case twins", async () => {
    const { worktrees, payload, root } = scene;
    variedTree(payload);
    linkSync(join(payload, "a.txt"), join(payload, "deep/hard"));
    chmodSync(join(payload, "deep/c"), 0o750);
    chmodSync(join(payload, "empty/inner"), 0o555);
    const taken = await worktrees.take("main");
    expect(taken).toMatchObject({ consistency_level: "quiesced", skipped: 0, warnings: [], parent_id: null });
    const copy = join(root, "copy");
    const made = await worktrees.restore.toNew(taken.snapshot_id, copy);
    expect(made).toMatchObject({ worktree_id: "copy", mode: "exclusive", head: taken.snapshot_id });
    expect(outlineOf(copy)).toEqual(outlineOf(payload));
    expect((await worktrees.take("copy")).payload_root_hash).toBe(taken.payload_root_hash);
    expect(await worktrees.verify(null)).toMatchObject({ ok: true, findings: [] });
  });

  it("files with holes keep them", async () => {
    const { worktrees, payload, root } = scene;
    for (const [name, size] of [
      ["small", 300_000],
      ["large", 3_000_000],
    ] as const) {
      writeFileSync(join(payload, name), "begin");
      truncateSync(join(payload, name), size);
    }
    const taken = await worktrees.take("main");
    await worktrees.restore.toNew(taken.snapshot_id, join(root, "copy"));
    expect(outlineOf(join(root, "copy"))).toEqual(outlineOf(payload));
    for (const name of ["small", "large"])
      expect(statSync(join(root, "copy", name)).blocks).toBeLessThanOrEqual(statSync(join(payload, name)).blocks);
  });

  it("an edit in place reaches neither the store nor another copy, also where they share blocks", async () => {
    const { worktrees, payload, root } = scene;
    const edit = (folder: string): void => {
      const fd = openSync(join(folder, "large"), "r+");
      writeSync(fd, "edited", 1_000_000);
      closeSync(fd);
    };
    scene.write({ large: Buffer.alloc(2_500_000, "x"), small: "small" });
    chmodSync(join(payload, "large"), 0o640);
    const before = outlineOf(payload);
    const { snapshot_id: id } = await worktrees.take("main");
    await worktrees.restore.toNew(id, join(root, "one"));
    edit(payload);
    edit(join(root, "one"));
    await worktrees.restore.toNew(id, join(root, "two"));
    expect(outlineOf(join(root, "two"))).toEqual(before);
    expect(await worktrees.verify(null)).toMatchObject({ ok: true });
  });

  it.runIf(process.platform === "linux")(
    "what cannot be kept is listed as skipped, never lost in silence (needs Linux)",
    async () => {
      const { worktrees, payload } = scene;
      scene.write({ kept: "kept" });
      execFileSync("mkfifo", [join(payload, "pipe")]);
      writeFileSync(Buffer.concat([Buffer.from(`${payload}/bad`), Buffer.from([0xff])]), "bad");
      const taken = await worktrees.take("main");
      expect(taken.skipped).toBe(2);
      expect(taken.warnings).toEqual(["2 entries were skipped"]);
      expect(skippedIn(scene.root, taken.snapshot_id)).toEqual([
        { path: "pipe", why: "a fifo" },
        { path: "bad\\xff", why: "the name is not UTF-8" },
      ]);
    },
  );

  // kills: link-to-left-out
  it("a best_effort snapshot of a file with two names comes back, also when the first could not be read", async () => {
    const { worktrees, payload, root } = scene;
    scene.write(Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`f${String(at).padStart(3, "0")}`, ""])));
    linkSync(join(payload, "f999"), join(payload, "second name"));
    linkSync(join(payload, "f999"), join(payload, "third name"));
    // It is asked after every thousand entries: between the look at the last of them, f999, and the reading of it.
    let asked = 0;
    const throwIfAborted = (): void => {
      asked += 1;
      if (asked === 2) rmSync(join(payload, "f999"));
    };
    const signal = Object.assign(new AbortController().signal, { throwIfAborted });
    const { snapshot_id: id } = await worktrees.take("main", { consistency: "best_effort", signal });
    expect(skippedIn(root, id)).toEqual([
      { path: "f999", why: "it changed while it was read" },
      { path: "second name", why: "a hard link to f999, which was left out" },
      { path: "third name", why: "a hard link to f999, which was left out" },
    ]);
    await worktrees.restore.toNew(id, join(root, "copy"));
    expect(readdirSync(join(root, "copy"))).toHaveLength(999);
    expect(await worktrees.verify(null)).toMatchObject({ ok: true });
  });

  it("what .holdfastignore names is neither saved nor touched by a restore in place", async () => {
    const { worktrees, payload } = scene;
    scene.write({ ".holdfastignore": "*.log\n/build/\n", "a.txt": "one", "x.log": "log", "build/out": "out" });
    const taken = await worktrees.take("main");
    expect(taken.entries).toBe(3);
    scene.write({ "a.txt": "two", "y.log": "log", "deep/z.log": "log" });
    const restored = await worktrees.restore.inPlace(taken.snapshot_id, "main");
    expect(restored.kept).toEqual([]);
    for (const name of ["x.log", "y.log", "build/out", "deep/z.log"])
      expect(existsSync(join(payload, name))).toBe(true);
    expect(
      (await worktrees.diff(taken.snapshot_id, (await worktrees.take("main")).snapshot_id)).map((each) => each.path),
    ).toEqual(["deep"]);
  });

  // kills: tree-marks
  it("the marks of publishes are neither saved nor brought back: a publisher who was overtaken stays so", async () => {
    const { worktrees, payload } = scene;
    const target = join(payload, "sites", "shop");
    const by = (fencingToken: number) => ({ store: "one", tree: "sites", fencingToken });
    scene.write({ "sites/shop/index.html": "one" });
    await raiseMark(target, by(1));
    const taken = await worktrees.take("main");
    expect(taken.entries).toBe(4); // The payload, sites/, shop/ and the file.
    await raiseMark(target, by(2));
    scene.write({ "sites/shop/index.html": "two" });
    const restored = await worktrees.restore.inPlace(taken.snapshot_id, "main");
    expect(restored.kept).toEqual([]);
    expect(readFileSync(join(target, "index.html"), "utf8")).toBe("one");
    await expect(raiseMark(target, by(1))).rejects.toMatchObject({ code: "E_FENCING_MISMATCH" });
  });

  it("unchanged files are not read again and cost no space", async () => {
    const { worktrees, payload } = scene;
    scene.write(Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`d${at % 7}/f${at}`, `content ${at}`])));
    await new Promise((resolve) => setTimeout(resolve, 50)); // Out of the clock's grain.
    const first = await worktrees.take("main");
    expect(first.files_read).toBe(300);
    expect((await worktrees.take("main")).files_read).toBe(0);
    writeFileSync(join(payload, "d1/f1"), "changed");
    const third = await worktrees.take("main");
    expect(third.files_read).toBe(1);
    expect(await worktrees.diff(first.snapshot_id, third.snapshot_id)).toEqual([
      { change: "changed", path: "d1/f1", kind: "file", size_before: 9, size_after: 7 },
    ]);
  });

  it("a payload that holds the workspace leaves .holdfast out", async () => {
    const { worktrees, root, holdfast } = scene;
    await worktrees.trees.remove("main");
    mkdirSync(join(root, "sub"), { recursive: true });
    writeFileSync(join(root, "sub/file"), "here");
    await worktrees.trees.add("all", { path: "." });
    const taken = await worktrees.take("all");
    expect(taken.entries).toBe(4); // The root, payload/, sub/ and the file.
    writeFileSync(join(root, "sub/file"), "there");
    await worktrees.restore.inPlace(taken.snapshot_id, "all");
    expect(await holdfast.list()).toEqual([]);
    expect((await worktrees.verify(null)).ok).toBe(true);
  });
});
