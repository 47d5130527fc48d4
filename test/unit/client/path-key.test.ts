import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pathKey } from "../../../src/client/path-key.js";
import { MAX_KEY_BYTES, MAX_SEGMENT_BYTES, MAX_SEGMENTS, parseKey } from "../../../src/lock/key.js";
import { fc } from "../../fixtures/fast-check.fixture.js";

let outside: string;
let root: string;

beforeAll(() => {
  outside = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-path-")));
  root = join(outside, "root");
  mkdirSync(join(root, "src/api"), { recursive: true });
  writeFileSync(join(root, "src/api/main.ts"), "");
  writeFileSync(join(outside, "secret"), "");
  const links = {
    "root/to-api": "src/api",
    "root/to-file": "to-api/main.ts",
    "root/absolute": join(root, "src"),
    "root/dangling": "src/new/file",
    "root/dangling-absolute": join(root, "src/new"),
    "root/to-dangling": "dangling",
    "root/src/up": "../later",
    "root/escape": "../secret",
    "root/escape-later": "../not-there",
    "root/loop-a": "loop-b",
    "root/loop-b": "loop-a",
    "root/loop-missing": "missing/../loop-missing",
    "root/itself": ".",
    "to-root": "root",
  };
  for (const [link, target] of Object.entries(links)) symlinkSync(target, join(outside, link));
});

afterAll(() => rmSync(outside, { recursive: true, force: true }));

describe("pathKey: one file has one key", () => {
  it("LOCK-1 `path` is the whole workspace", () => {
    for (const path of [".", "./", "src/..", root, `${root}/`, "itself", join(outside, "to-root")]) {
      expect(pathKey(root, path), path).toBe("path");
    }
  });

  it.each([
    ["src/api", "path/src/api"],
    ["src//api/", "path/src/api"],
    ["./src/../src/api/main.ts", "path/src/api/main.ts"],
    ["../root/src", "path/src"],
    ["to-api", "path/src/api"],
    ["to-file", "path/src/api/main.ts"],
    ["absolute/api", "path/src/api"],
    // The kernel's reading of `..` behind a link: the parent of where it leads.
    ["to-api/../x", "path/src/x"],
    ["not/there/yet", "path/not/there/yet"],
    ["not/there/../yet", "path/not/yet"],
    ["to-api/not-there", "path/src/api/not-there"],
    ["dangling", "path/src/new/file"],
    ["dangling/below", "path/src/new/file/below"],
    ["dangling-absolute/file", "path/src/new/file"],
    ["to-dangling", "path/src/new/file"],
    ["src/up/file", "path/later/file"],
    ["missing/../to-api/x", "path/src/api/x"],
    ["src/api/main.ts/below-a-file", "path/src/api/main.ts/below-a-file"],
  ])("LOCK-1 %s is %s, from wherever it is named", (path, key) => {
    expect(pathKey(root, path)).toBe(key);
    expect(pathKey(root, Buffer.from(path))).toBe(key);
    expect(pathKey(root, `${root}/${path}`)).toBe(key);
    expect(pathKey(join(outside, "to-root"), path)).toBe(key);
    expect(pathKey(root, `${outside}/to-root/${path}`)).toBe(key);
    expect(pathKey(relative(process.cwd(), root), path)).toBe(key);
  });

  it("LOCK-1 a file keeps its key when it comes to be", () => {
    const before = pathKey(root, "to-api/born/file");
    mkdirSync(join(root, "src/api/born"));
    writeFileSync(join(root, "src/api/born/file"), "");
    expect(pathKey(root, "to-api/born/file")).toBe(before);
  });

  it("LOCK-1 works with the root of the file system", () => {
    expect(pathKey("/", "/")).toBe("path");
    expect(pathKey("/", "not-there-at-all")).toBe("path/not-there-at-all");
    expect(pathKey("/", join(root, "to-api"))).toBe(`path${root}/src/api`);
  });
});

// kills: memory-of-absence
it("a folder that was not there before its worktree was made has the key of the worktree at once", () => {
  const main = join(outside, "main");
  mkdirSync(join(main, ".git/worktrees/feat"), { recursive: true });
  writeFileSync(join(main, ".git/HEAD"), "ref: refs/heads/main\n");
  const top = join(main, "trees/feat");
  expect(pathKey(main, join(top, "src/a"))).toBe("path/trees/feat/src/a");
  expect(pathKey(main, top)).toBe("path/trees/feat");
  mkdirSync(top, { recursive: true });
  writeFileSync(join(main, ".git/worktrees/feat/commondir"), "../..\n");
  writeFileSync(join(main, ".git/worktrees/feat/gitdir"), `${top}/.git\n`);
  writeFileSync(join(top, ".git"), `gitdir: ${main}/.git/worktrees/feat\n`);
  expect(pathKey(main, top)).toBe("path@feat");
  expect(pathKey(main, join(top, "src/a"))).toBe("path@feat/src/a");
});

describe("pathKey: refusals", () => {
  it.each([
    "..",
    "../secret",
    "../root-sibling",
    "/",
    "escape",
    "escape-later",
    "not/../../there",
    "to-api/../../../x",
  ])("LOCK-1 %s is outside the root", (path) => {
    expect(() => pathKey(root, path)).toThrow(refusal("outside the workspace root"));
  });

  it.each(["loop-a", "loop-a/x", "loop-missing"])("LOCK-1 %s is a loop", (path) => {
    expect(() => pathKey(root, path)).toThrow(refusal("loop"));
  });

  it("LOCK-1 refuses what can be no path", () => {
    expect(() => pathKey(root, "")).toThrow(refusal("empty"));
    expect(() => pathKey(root, "a\0b")).toThrow(refusal("NUL"));
    expect(() => pathKey(root, "x".repeat(5_000))).toThrow(refusal("longer than the system allows"));
  });

  it("LOCK-1 E_IO when there is no root", () => {
    const missing = join(outside, "no-root");
    expect(() => pathKey(missing, "x")).toThrow(
      expect.objectContaining({ code: "E_IO", details: { path: missing, errno: "ENOENT" } }),
    );
  });

  function refusal(part: string): unknown {
    return expect.objectContaining({
      code: "E_INVALID_ARGUMENT",
      details: { field: "path" },
      message: expect.stringContaining(part),
    });
  }
});

describe("pathKey: encoding", () => {
  it.each([
    ["plain-Name_1.x@+=,~", "path/plain-Name_1.x@+=,~"],
    ["kind:id", "path/kind%3Aid"],
    ["100%", "path/100%25"],
    ["a b\n", "path/a%20b%0A"],
    ["é", "path/%C3%A9"],
    ["...", "path/..."],
  ])("LOCK-1 %j is %s", (name, key) => {
    expect(pathKey(root, name)).toBe(key);
  });

  it("LOCK-1 a name that is not UTF-8 keeps its bytes, on disk and before", () => {
    const name = Buffer.from([0x66, 0xff, 0xfe]);
    const path = Buffer.concat([Buffer.from(`${root}/`), name]);
    expect(pathKey(root, name)).toBe("path/f%FF%FE");
    writeFileSync(path, "");
    expect(pathKey(root, path)).toBe("path/f%FF%FE");
  });

  it("LOCK-1 a long name keeps its beginning and gets a hash", () => {
    expect(pathKey(root, "x".repeat(128))).toBe(`path/${"x".repeat(128)}`);
    expect(pathKey(root, "x".repeat(129))).toMatch(/^path\/x{80}%~[0-9a-f]{32}$/);
    // Three bytes each, so the cut at 80 falls inside an escape.
    expect(pathKey(root, " ".repeat(43))).toMatch(/^path\/(%20){26}%~[0-9a-f]{32}$/);
    expect(pathKey(root, `x${" ".repeat(43)}`)).toMatch(/^path\/x(%20){26}%~[0-9a-f]{32}$/);
    expect(pathKey(root, `xx${" ".repeat(43)}`)).toMatch(/^path\/xx(%20){26}%~[0-9a-f]{32}$/);
  });

  it("LOCK-1 a path that does not fit becomes its deepest ancestor that does", () => {
    const deep = Array.from({ length: 70 }, (_, i) => `d${i}`);
    expect(pathKey(root, deep.slice(0, 63).join("/"))).toBe(`path/${deep.slice(0, 63).join("/")}`);
    expect(pathKey(root, deep.join("/"))).toBe(`path/${deep.slice(0, 63).join("/")}`);
    const wide = Array.from({ length: 9 }, () => "x".repeat(126));
    expect(pathKey(root, wide.join("/"))).toBe(`path/${wide.slice(0, 8).join("/")}`);
  });
});

describe("pathKey: properties", () => {
  const name = fc
    .oneof(
      fc.uint8Array({ minLength: 1, maxLength: 250 }),
      fc.uint8Array({ minLength: 1, maxLength: 3 }),
      // Names made of what escapes and hashes are made of.
      fc.array(fc.constantFrom(..."%~25:Aa".split("").map((c) => c.charCodeAt(0))), { minLength: 1, maxLength: 6 }),
      fc.nat({ max: 250 }).map((n) => [...Buffer.from("y".repeat(n + 1))]),
    )
    .map((bytes) => Buffer.from(bytes))
    .filter((bytes) => !bytes.includes(0) && !bytes.includes(0x2f) && ![".", ".."].includes(bytes.toString("latin1")));

  it("LOCK-1 distinct names have distinct keys", () => {
    const folder = mkdtempSync(join(outside, "empty-"));
    fc.assert(
      fc.property(name, name, (one, other) => {
        expect(pathKey(folder, one) === pathKey(folder, other)).toBe(one.equals(other));
      }),
      { numRuns: 500 },
    );
  });

  it("LOCK-1 every path becomes a valid key whose ancestors are the keys of its ancestors", () => {
    const folder = mkdtempSync(join(outside, "empty-"));
    const names = fc.oneof(
      fc.array(name, { minLength: 1, maxLength: 12 }),
      fc.array(fc.constant(Buffer.from("d")), { minLength: 60, maxLength: 70 }),
    );
    fc.assert(
      fc.property(names, (parts) => {
        const key = pathKey(folder, joined(parts));
        const segments = key.split("/");
        expect(parseKey(key)).toBe(key);
        expect(key.length).toBeLessThanOrEqual(MAX_KEY_BYTES);
        expect(segments.length).toBeLessThanOrEqual(MAX_SEGMENTS);
        for (const segment of segments) expect(segment.length).toBeLessThanOrEqual(MAX_SEGMENT_BYTES);
        const parent = parts.length === 1 ? "path" : pathKey(folder, joined(parts.slice(0, -1)));
        expect(key === parent || key.startsWith(`${parent}/`)).toBe(true);
      }),
    );
  });

  function joined(parts: readonly Buffer[]): Buffer {
    return Buffer.concat(parts.flatMap((part, i) => (i === 0 ? [part] : [Buffer.from("/"), part])));
  }
});
