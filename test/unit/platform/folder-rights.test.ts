import { chmodSync, closeSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createFile, createFresh, makeFolder, makeHome, openOrMake } from "../../../src/platform/folder-rights.js";

const UMASKS = [0o077, 0o022, 0o002, 0o000];

function newFolder(mode: number): string {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-rights-"));
  chmodSync(folder, mode);
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function modeOf(path: string): string {
  return (statSync(path).mode & 0o7777).toString(8);
}

describe.each(UMASKS)("under the umask %o", (umask) => {
  function withUmask<T>(action: () => T): T {
    const before = process.umask(umask);
    try {
      return action();
    } finally {
      process.umask(before);
    }
  }

  // kills: home-for-others
  it.each([
    [0o755, "700"],
    [0o700, "700"],
    [0o775, "2770"],
    [0o2775, "2770"],
    [0o777, "2770"],
    [0o1777, "700"],
  ])("the folder of a store in one of mode %o gives others no rights", (around, mode) => {
    const home = join(newFolder(around), "above", ".holdfast");
    expect(withUmask(() => makeHome(home))).toBe(join(home, ".."));
    expect(modeOf(home)).toBe(mode);
    expect(withUmask(() => makeHome(home))).toBeUndefined();
  });

  // kills: rights-of-folder
  it.each([
    [0o700, "700", "600"],
    [0o750, "750", "640"],
    [0o770, "770", "660"],
    [0o2770, "2770", "660"],
    [0o755, "755", "644"],
    [0o1777, "700", "600"],
  ])("what lies inside a folder of mode %o has its rights", (around, folders, files) => {
    const folder = newFolder(around);
    withUmask(() => {
      makeFolder(join(folder, "one", "two"));
      closeSync(createFile(join(folder, "file")));
      closeSync(openOrMake(join(folder, "guard")));
      writeFileSync(join(folder, "left"), "by a crash");
      closeSync(createFresh(join(folder, "left")));
      closeSync(createFile(join(folder, "object"), "wx", 0o444));
    });
    const names = ["one", "one/two", "file", "guard", "left"];
    expect(names.map((name) => modeOf(join(folder, name)))).toEqual([folders, folders, files, files, files]);
    expect(statSync(join(folder, "object")).mode & 0o222).toBe(0);
    expect(statSync(join(folder, "left")).size).toBe(0);
    expect(readdirSync(folder).sort()).toEqual(["file", "guard", "left", "object", "one"]);
  });
});

describe("what root makes", () => {
  // kills: owner-of-folder
  it.skipIf(process.getuid?.() !== 0)("belongs to the owner of the folder that it lies in (needs root)", async () => {
    const { chownSync } = await import("node:fs");
    const folder = newFolder(0o755);
    chownSync(folder, 50_001, 50_100);
    makeHome(join(folder, ".holdfast"));
    makeFolder(join(folder, ".holdfast", "alive"));
    closeSync(createFile(join(folder, ".holdfast", "file")));
    closeSync(openOrMake(join(folder, ".holdfast", "guard")));
    for (const name of ["", "alive", "file", "guard"])
      expect(statSync(join(folder, ".holdfast", name))).toMatchObject({ uid: 50_001, gid: 50_100 });
  });
});

describe("openOrMake", () => {
  it("opens the same file for all, and leaves what is in it", () => {
    const folder = newFolder(0o700);
    const path = join(folder, "log");
    const [one, two] = [openOrMake(path), openOrMake(path)];
    writeFileSync(one, "line");
    expect(statSync(path).size).toBe(4);
    closeSync(openOrMake(path));
    expect(statSync(path).size).toBe(4);
    mkdirSync(join(folder, "none"));
    expect(() => openOrMake(join(folder, "gone", "log"))).toThrow(expect.objectContaining({ code: "ENOENT" }));
    for (const fd of [one, two]) closeSync(fd);
  });
});
