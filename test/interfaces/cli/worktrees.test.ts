/** The commands on worktrees, in processes of their own. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openScene, type Scene } from "../../fixtures/command.fixture.js";

let scene: Scene;
const payload = (name: string): string => join(scene.root, "src", name);

beforeEach(async () => {
  scene = await openScene();
  mkdirSync(join(scene.root, "src"));
  writeFileSync(payload("a"), "one");
  await scene.data(["worktree", "add", "main", "--path", "src"]);
});
afterEach(() => scene.close());

describe("TREE-6, CLI-2: snapshots from the command line", () => {
  it("take, look, restore to a new folder and in place, and draw the history", async () => {
    const first = await scene.data(["snapshot", "-m", "first", "--tag", "v1", "--tag", "v1"]);
    expect(first).toMatchObject({ parent_id: null, worktree_id: "main", note: "first", tags: ["v1"], warnings: [] });
    writeFileSync(payload("b"), "two");
    const second = await scene.data(["snapshot", "main"], { cwd: join(scene.root, "src") });
    expect(second.parent_id).toBe(first.snapshot_id);
    const { files_read: _read, ...described } = second;
    expect(await scene.data(["info", second.snapshot_id.slice(-8)])).toEqual(described);
    expect(await scene.data(["info", "v1"])).toMatchObject({ snapshot_id: first.snapshot_id });
    expect((await scene.data(["diff", first.snapshot_id, second.snapshot_id])).differences).toEqual([
      { change: "added", path: "b", kind: "file", size_before: null, size_after: 3 },
    ]);
    const { worktree } = await scene.data(["restore", first.snapshot_id, "--to", "copy"]);
    expect(worktree).toMatchObject({ worktree_id: "copy", head: first.snapshot_id, path: join(scene.root, "copy") });
    const { restored } = await scene.data(["restore", first.snapshot_id, "--inplace"]);
    expect(restored).toMatchObject({ worktree_id: "main", snapshot_id: first.snapshot_id, kept: [] });
    expect(existsSync(payload("b"))).toBe(false);
    await scene.data(["snapshot", "main"]);
    const { stdout } = await scene.run(["history"]);
    expect(stdout.split("\n").map((line) => line.replace(/ *\* .*/, "*"))).toEqual(["*", "├─*", "│*", "*", ""]);
    expect(stdout).toContain("<- main");
    expect((await scene.data(["verify", "--all"])).ok).toBe(true);
    expect(await scene.data(["gc"])).toMatchObject({ removed: { folders: 0 } });
  });

  it("CLI-5: where there is no worktree, the next step is to add one", async () => {
    await scene.data(["worktree", "remove", "main"]);
    expect(await scene.json(["snapshot"])).toMatchObject({
      exit: 64,
      error: { next: ["holdfast worktree add NAME --path DIR"] },
    });
    expect(await scene.json(["info", "v1"])).toMatchObject({ exit: 89, error: { next: ["holdfast history"] } });
  });

  it("CLI-5: what a restore in place says to type undoes it", async () => {
    const { snapshot_id: id } = await scene.data(["snapshot"]);
    writeFileSync(payload("b"), "two");
    const { stderr } = await scene.run(["restore", id, "--inplace"]);
    const [, step = ""] = /; to go back: holdfast (.*)\n/.exec(stderr) ?? [];
    expect(existsSync(payload("b"))).toBe(false);
    expect((await scene.run(step.split(" "))).exit).toBe(0);
    expect(readFileSync(payload("b"), "utf8")).toBe("two");
    const over = await scene.run(["restore", "--revert", "main"]);
    expect([over.stdout, over.stderr]).toEqual([
      "nothing was interrupted in main\n",
      expect.stringContaining("holdfast history main, then holdfast restore ID --inplace"),
    ]);
    const unknown = await scene.json(["snapshot", "mian"]);
    expect(unknown.error.next).toEqual(["holdfast worktree list", "holdfast worktree add mian --path DIR"]);
  });

  it("CLI-4: exit codes 83, 84, 65, 75, 81, 89", async () => {
    const { snapshot_id: id } = await scene.data(["snapshot"]);
    await scene.data(["lock", "acquire", "worktree:main"]);
    expect(await scene.json(["snapshot"], { env: { HOLDFAST_OWNER: "agent:other" } })).toMatchObject({ exit: 75 });
    expect((await scene.json(["lock", "status", "worktree:main"])).data.grants[0].worktree_id).toBe("main");
    const kept = await scene.data(["snapshot"]);
    expect(kept.fencing_token).toBe((await scene.inspect("worktree:main")).fencing_token);
    expect(await scene.json(["snapshot", "--token", "wrong"])).toMatchObject({
      exit: 81,
      error: { code: "E_LOCK_NOT_HELD" },
    });
    await scene.data(["lock", "release", "worktree:main"]);
    expect(await scene.json(["info", "ffff"])).toMatchObject({ exit: 89 });
    const folder = join(scene.root, ".holdfast/snapshots/taken", id);
    const ready = readFileSync(join(folder, ".READY"));
    rmSync(join(folder, ".READY"));
    expect(await scene.json(["info", id])).toMatchObject({ exit: 84, error: { code: "E_PARTIAL_SNAPSHOT" } });
    writeFileSync(join(folder, ".READY"), ready);
    rmSync(join(folder, "pack-0"));
    expect(await scene.json(["verify", id])).toMatchObject({ exit: 65, error: { code: "E_STORE_CORRUPT" } });
  });

  it("TREE-4 exit code 83 while somebody writes", async () => {
    const preload = join(scene.dir, "writer.cjs");
    // Whenever the command has looked at the file, somebody writes to it: no schedule lets a quiet moment come about.
    writeFileSync(
      preload,
      `const fs = require("node:fs"); const { lstatSync, appendFileSync } = fs;
       fs.lstatSync = (path, ...rest) => { const stats = lstatSync(path, ...rest); if (path === ${JSON.stringify(payload("a"))}) appendFileSync(path, "x"); return stats; };`,
    );
    const refused = await scene.json(["snapshot"], { preload });
    expect(readFileSync(payload("a"), "utf8")).toMatch(/^onex+$/);
    expect(refused).toMatchObject({ exit: 83, error: { code: "E_CONSISTENCY_UNAVAILABLE", retryable: true } });
    expect((await scene.data(["history"])).snapshots).toEqual([]);
  });

  it("TREE-1 shared worktrees are marked wherever they are shown", async () => {
    await scene.data(["worktree", "add", "open", "--mode", "shared"]);
    expect((await scene.data(["snapshot", "open"])).warnings.join()).toContain("high risk");
    expect((await scene.run(["worktree", "list"])).stdout).toContain("high risk");
    expect((await scene.run(["history", "open"])).stdout).toContain("high risk");
    expect((await scene.data(["history", "main"])).snapshots).toEqual([]);
  });
});
