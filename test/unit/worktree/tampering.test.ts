/** A flipped bit anywhere is found and named; a crafted store leads nowhere; a partial snapshot is no snapshot. */
import { hash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { tryMark } from "../../../src/features/worktree/collect/pins.js";
import { parseEntry } from "../../../src/features/worktree/manifest/entry.js";
import { createPackWriter } from "../../../src/features/worktree/objects/pack-writer.js";
import { sealText } from "../../../src/features/worktree/sealed-file.js";
import { HoldfastError } from "../../../src/index.js";
import { filesBelow, openScene, type Scene, variedTree } from "../../fixtures/worktree/worktree.fixture.js";

let scene: Scene;
let base: string;

beforeEach(async () => {
  scene = await openScene();
  base = join(scene.root, ".holdfast/snapshots");
});
afterEach(() => scene.close());

describe("TREE-6: verify", () => {
  it("finds a flipped bit in every file of the store, and names where", { timeout: 300_000 }, async () => {
    variedTree(scene.payload);
    await scene.worktrees.take("main");
    scene.write({ "a.txt": "other", "new/one": "new" });
    await scene.worktrees.take("main");
    expect((await scene.worktrees.verify(null)).ok).toBe(true);
    let count = 0;
    for (const name of filesBelow(base)) {
      if (/^(use|turnstile)$|\.mark$/.test(name)) continue;
      const path = join(base, name);
      const whole = readFileSync(path);
      chmodSync(path, 0o644);
      const step = Math.max(1, Math.floor(whole.length / (whole.length > 100_000 ? 2 : 9)));
      for (let at = 0; at < whole.length; at += step) {
        const bad = Buffer.from(whole);
        bad[at] = (bad[at] ?? 0) ^ (1 << (at % 8));
        writeFileSync(path, bad);
        const { ok, findings } = await scene.worktrees.verify(null);
        expect(`${name} at ${at}: ${ok}`).toBe(`${name} at ${at}: false`);
        expect(findings.length).toBeGreaterThan(0);
        for (const finding of findings) expect(finding.problem).not.toBe("");
        count += 1;
      }
      writeFileSync(path, whole);
    }
    expect((await scene.worktrees.verify(null)).ok).toBe(true);
    expect(count).toBeGreaterThan(80);
  });

  it("names the file of the payload whose content is damaged, and a restore of it changes nothing", async () => {
    scene.write({ "a/good": "good content", "a/bad": "bad content, soon" });
    const { snapshot_id: id } = await scene.worktrees.take("main");
    const pack = join(base, "taken", id, "pack-0");
    chmodSync(pack, 0o644);
    writeFileSync(
      pack,
      Buffer.from(readFileSync(pack).toString("latin1").replace("bad content", "BAD content"), "latin1"),
    );
    const { findings } = await scene.worktrees.verify(id);
    expect(findings.map(({ snapshot_id, path }) => [snapshot_id, path])).toEqual([[id, "a/bad"]]);
    await expect(scene.worktrees.restore.toNew(id, join(scene.root, "copy"))).rejects.toMatchObject({
      code: "E_STORE_CORRUPT",
    });
    expect(existsSync(join(scene.root, "copy"))).toBe(false);
    expect(filesBelow(scene.root).filter((name) => name.includes(".holdfast-"))).toEqual([]);
    expect(scene.worktrees.trees.list()).toHaveLength(1);
  });
});

describe("TREE-10: what doctor asks", () => {
  it("finds small files that are gone or torn, and goes on; verify does too", async () => {
    const { snapshot_id: id } = await scene.worktrees.take("main");
    rmSync(join(base, "taken", id, "skipped"));
    for (const name of ["format.json", "heads/main.json", "worktrees/main.json"]) writeFileSync(join(base, name), "");
    const found = (await scene.worktrees.check()).map(({ path }) => path.slice(base.length + 1));
    expect(found).toEqual([`taken/${id}`, "format.json", "worktrees/main.json", "heads/main.json"]);
    const { findings } = await scene.worktrees.verify(null);
    expect(findings.map(({ path }) => path.slice(base.length + 1))).toEqual([
      `taken/${id}/skipped`,
      "format.json",
      "worktrees/main.json",
      "heads/main.json",
    ]);
  });

  // kills: tree-live-restore, tree-live-revert
  it("leaves a restore in place alone whose process lives", async () => {
    mkdirSync(join(base, "restores/main"));
    const mark = tryMark(join(base, "restores/main.mark"));
    const note = join(base, "restores/main.revert");
    writeFileSync(note, sealText({ worktree_id: "main", rescue_id: "20261116-132750257-eb2204ce" }));
    await expect(scene.worktrees.take("main")).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
    expect(existsSync(note)).toBe(true);
    for (const repair of [false, true]) expect(await scene.worktrees.check({ repair })).toEqual([]);
    mark?.[Symbol.dispose]();
    expect(await scene.worktrees.check()).toMatchObject([{ kind: "interrupted" }]);
    expect(await scene.worktrees.check({ repair: true })).toEqual([]);
  });
});

describe("TREE-5: partial snapshots", () => {
  // kills: snapshot-ready (does not fit)
  it.each([
    ["without .READY", (folder: string) => rmSync(join(folder, ".READY"), { force: true })],
    ["with a .READY that does not fit", (folder: string) => tamper(join(folder, ".READY"))],
    ["with another descriptor", (folder: string) => tamper(join(folder, "descriptor.json"))],
  ])("%s are not listed, and naming one is E_PARTIAL_SNAPSHOT", async (_how, damage) => {
    scene.write({ file: "one" });
    const first = await scene.worktrees.take("main");
    scene.write({ file: "two" });
    const { snapshot_id: id } = await scene.worktrees.take("main");
    damage(join(base, "taken", id));
    expect(scene.worktrees.list().map((each) => each.snapshot_id)).toEqual([first.snapshot_id]);
    expect(() => scene.worktrees.info(id)).toThrow(expect.objectContaining({ code: "E_PARTIAL_SNAPSHOT" }));
    await expect(scene.worktrees.restore.toNew(id, join(scene.root, "x"))).rejects.toMatchObject({
      code: "E_PARTIAL_SNAPSHOT",
    });
    expect((await scene.worktrees.check()).map((fault) => fault.kind)).toContain("partial");
    expect(scene.worktrees.trees.get("main").head).toBe(first.snapshot_id);
    expect((await scene.worktrees.take("main")).parent_id).toBe(first.snapshot_id);
  });
});

describe("TREE-7: a crafted store", () => {
  // kills: restore-path
  it.each([
    '["f","../out",420,0,0,"HASH"]',
    '["f","/etc/x",420,0,0,"HASH"]',
    '["d","a/../..",493,0]',
    '["f","a//b",420,0,0,"HASH"]',
    '["f","a\\u0000",420,0,0,"HASH"]',
    '["h","x","../../etc/passwd"]',
    '["f","",420,0,0,"HASH"]',
    '["q","x"]',
    "{}",
  ])("has no line %s", (line) => {
    expect(() => parseEntry(line.replace("HASH", "0".repeat(64)))).toThrow(HoldfastError);
  });

  // kills: restore-through-links (symbolic link)
  it.each([
    [
      "writes through a symbolic link",
      ['["d","",493,0]', '["l","out",0,"OUTSIDE"]', '["f","out/file",420,0,4,"HASH"]'],
    ],
    ["links to a file outside", ['["d","",493,0]', '["l","out",0,"OUTSIDE"]', '["h","stolen","out/secret"]']],
    ["has a file twice", ['["d","",493,0]', '["f","a",420,0,4,"HASH"]', '["f","a",420,0,4,"HASH"]']],
    ["has no folder to begin with", ['["f","a",420,0,4,"HASH"]']],
  ])("that %s is refused, and nothing outside is touched", async (_what, lines) => {
    const outside = join(scene.root, "outside");
    mkdirSync(outside);
    writeFileSync(join(outside, "secret"), "secret");
    scene.write({ file: "evil" });
    const { snapshot_id: id } = await scene.worktrees.take("main");
    craft(
      join(base, "taken", id),
      lines.map((line) => line.replace("OUTSIDE", outside).replace("HASH", sha("evil"))),
    );
    await expect(scene.worktrees.restore.toNew(id, join(scene.root, "copy"))).rejects.toMatchObject({
      code: "E_STORE_CORRUPT",
    });
    expect(existsSync(join(scene.root, "copy"))).toBe(false);
    expect(filesBelow(outside)).toEqual(["secret"]);
  });
});

function tamper(path: string): void {
  chmodSync(path, 0o644);
  const bytes = readFileSync(path);
  bytes[10] = (bytes[10] ?? 0) ^ 1;
  writeFileSync(path, bytes);
}

function sha(text: string): string {
  return hash("sha256", text);
}

/** Gives a snapshot another manifest, with hashes that all fit. */
function craft(folder: string, lines: readonly string[]): void {
  const content = Buffer.from(`${lines.join("\n")}\n`);
  const piece = hash("sha256", content, "buffer");
  const pack = createPackWriter(folder, 9);
  pack.add(piece, content);
  pack.finish();
  const manifest = `${piece.toString("hex")}\n`;
  const { descriptor_checksum: _seal, ...descriptor } = JSON.parse(
    readFileSync(join(folder, "descriptor.json"), "utf8"),
  ) as Record<string, unknown>;
  const text = sealText({ ...descriptor, payload_root_hash: sha(manifest) }, "descriptor_checksum");
  for (const [name, value] of [
    ["manifest", manifest],
    ["descriptor.json", text],
    [".READY", `${sha(text)}\n`],
  ] as const) {
    chmodSync(join(folder, name), 0o644);
    writeFileSync(join(folder, name), value);
  }
}
