import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Files, FoldingFolders } from "../../../src/files/folding-folders.js";

interface Node {
  readonly isFolder?: boolean;
  readonly folds?: boolean;
  readonly dev?: number;
  readonly links?: number;
  readonly ino?: number;
}

/** A file system in memory, of which each folder folds names or not; `looks` counts what is asked of it. */
function fakeFiles(nodes: Readonly<Record<string, Node>>, options: { flags?: boolean; readOnly?: boolean } = {}) {
  const there = new Map<string, Node>(Object.entries({ "/": { isFolder: true }, ...nodes }));
  const counts = { looks: 0, made: 0 };
  const find = (path: string): string | undefined => {
    const same = (one: string): boolean =>
      one === path ||
      (dirname(one) === dirname(path) &&
        there.get(dirname(one))?.folds === true &&
        one.toLowerCase() === path.toLowerCase());
    return [...there.keys()].find(same);
  };
  const files: Files = {
    hasFolderFlags: options.flags ?? false,
    look(path) {
      counts.looks += 1;
      const name = find(path);
      const node = name === undefined ? undefined : there.get(name);
      if (name === undefined || node === undefined) return undefined;
      return {
        dev: BigInt(node.dev ?? 1),
        ino: BigInt(node.ino ?? [...there.keys()].indexOf(name) + 100),
        nlink: BigInt(node.links ?? 1),
        isDirectory: () => node.isFolder === true,
      };
    },
    names: (folder) =>
      [...there.keys()]
        .filter((path) => path !== "/" && dirname(path) === folder)
        .map((path) => path.slice(join(folder, "x").length - 1)),
    withFile(path, work) {
      if (options.readOnly) return null;
      counts.made += 1;
      there.set(path, {});
      const result = work();
      there.delete(path);
      return result;
    },
  };
  return { files, counts, there };
}

const folder = (node: Node = {}): Node => ({ isFolder: true, ...node });

describe("whether a folder folds names", () => {
  it("is told by a name that is there, and looked up only once", () => {
    const { files, counts } = fakeFiles({
      "/Mac": folder({ folds: true }),
      "/Mac/a": {},
      "/Plain": folder(),
      "/Plain/a": {},
    });
    const folders = new FoldingFolders(files, () => 0);
    expect([
      folders.folds("/Mac", "a"),
      folders.folds("/Plain"),
      folders.isPlain("/Plain"),
      folders.isPlain("/Mac"),
    ]).toEqual([true, false, true, false]);
    const { looks } = counts;
    expect([folders.folds("/Mac"), folders.isPlain("/Plain")]).toEqual([true, true]);
    expect(counts).toEqual({ looks, made: 0 });
  });

  // kills: folding-two-links
  it("is not told by a file with two links, which may have both spellings", () => {
    const { files } = fakeFiles({ "/a": { links: 2, ino: 7 }, "/A": { links: 2, ino: 7 }, "/folder": folder() });
    expect(new FoldingFolders(files, () => 0).folds("/", "a")).toBe(false);
  });

  it("is not told by two files whose names differ in capitals only", () => {
    const { files } = fakeFiles({ "/a": {}, "/A": {} });
    expect(new FoldingFolders(files, () => 0).folds("/")).toBe(false);
  });

  it("of an empty folder is that of the one around it, where no folder has a flag of its own", () => {
    const { files, counts } = fakeFiles({ "/Mac": folder({ folds: true }), "/Mac/new": folder({ folds: true }) });
    expect(new FoldingFolders(files, () => 0).folds("/Mac/new")).toBe(true);
    expect(counts.made).toBe(0);
  });

  // kills: folding-empty
  it("of an empty folder that may have a flag of its own is tried with a file that is removed again", () => {
    const { files, there } = fakeFiles({ "/flagged": folder({ folds: true }), "/1": {} }, { flags: true });
    const folders = new FoldingFolders(files, () => 0);
    expect([folders.folds("/flagged"), folders.folds("/")]).toEqual([true, false]);
    expect([...there.keys()]).toEqual(["/", "/flagged", "/1"]);
  });

  it("of an empty folder on another device is tried, and follows the one around it where nothing can be written", () => {
    const nodes = { "/disk": folder({ folds: true, dev: 2 }) };
    expect(new FoldingFolders(fakeFiles(nodes).files, () => 0).folds("/disk")).toBe(true);
    expect(new FoldingFolders(fakeFiles(nodes, { readOnly: true }).files, () => 0).folds("/disk")).toBe(false);
  });

  it("of a folder that is not there is that of the one around it, and nothing is made", () => {
    const { files, counts } = fakeFiles({ "/Mac": folder({ folds: true }), "/Mac/a": {} }, { flags: true });
    expect(new FoldingFolders(files, () => 0).folds("/Mac/new/newer", "a")).toBe(true);
    expect(counts.made).toBe(0);
  });

  // kills: folding-kept
  it("is asked again after some seconds, for another file system may have been mounted", () => {
    const { files, there } = fakeFiles({ "/disk": folder(), "/disk/a": {} });
    let now = 0;
    const folders = new FoldingFolders(files, () => now);
    expect(folders.isPlain("/disk")).toBe(true);
    there.set("/disk", folder({ folds: true }));
    now = 11_000;
    expect(folders.isPlain("/disk")).toBe(false);
  });
});
