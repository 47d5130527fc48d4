import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { removeTree } from "../../../src/files/remove-tree.js";
import { faults } from "../../fixtures/fault-injection.fixture.mjs";

/** Some are removed at once, the others several at a time. */
const MANY = 40;

let base: string;
let tree: string;

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "holdfast-remove-"));
  tree = join(base, "tree");
  for (const folder of [tree, join(tree, "a"), join(tree, "a/b")]) {
    mkdirSync(folder);
    for (let at = 0; at < MANY; at += 1) writeFileSync(join(folder, `f${at}`), "");
  }
  mkdirSync(join(base, "kept"));
  writeFileSync(join(base, "kept/file"), "");
  symlinkSync(join(base, "kept"), join(tree, "a/link"));
});

afterEach(() => {
  faults.disarm();
  rmSync(base, { recursive: true, force: true });
});

it("removes folders with many files; a link goes, and not what it leads to", async () => {
  await removeTree(tree);
  expect(existsSync(tree)).toBe(false);
  expect(readdirSync(join(base, "kept"))).toEqual(["file"]);
});

// kills: remove-odd-names
it.runIf(process.platform === "linux")(
  "removes what has a name that is not UTF-8, and all that is in it (needs Linux)",
  async () => {
    const odd = (folder: string): Buffer => Buffer.concat([Buffer.from(`${folder}/odd`), Buffer.from([0xff])]);
    const inside = (folder: Buffer, name: string): Buffer => Buffer.concat([folder, Buffer.from(`/${name}`)]);
    writeFileSync(odd(join(tree, "a/b")), "");
    writeFileSync(join(tree, "a/b/odd\ufffd"), "a name that is, and looks the same");
    mkdirSync(odd(tree));
    writeFileSync(inside(odd(tree), "file"), "");
    symlinkSync(join(base, "kept"), inside(odd(tree), "link"));
    await removeTree(tree);
    expect(existsSync(tree)).toBe(false);
    expect(readdirSync(join(base, "kept"))).toEqual(["file"]);
  },
);

it("two who remove the same tree do not disturb each other, and one that is gone is fine", async () => {
  await Promise.all([removeTree(tree), removeTree(tree)]);
  expect(existsSync(tree)).toBe(false);
  await removeTree(tree);
});

it.each([2, 30])(
  "a file that cannot be removed is told of (E_IO), and what is under way is waited for: %d",
  async (at) => {
    faults.watch(tree);
    faults.arm({ at, what: "EIO", changesOnly: true });
    await expect(removeTree(tree)).rejects.toMatchObject({ code: "E_IO" });
    const left = readdirSync(tree, { recursive: true }).length;
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(readdirSync(tree, { recursive: true })).toHaveLength(left);
  },
);
