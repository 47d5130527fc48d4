import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readBlock } from "../../../../src/store/file/tree/read-block.js";

let dir: string;
let path: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "holdfast-block-"));
  path = join(dir, "tree.json");
});
afterEach(() => rmSync(dir, { recursive: true }));

describe("a block file read without the guard", () => {
  it("is none where there is no file, or an empty one", () => {
    expect(readBlock(path)).toBeNull();
    writeFileSync(path, "\n");
    expect(readBlock(path)).toBeNull();
  });

  it("E_STORE_CORRUPT when it stays no JSON, E_IO when it cannot be looked at", () => {
    writeFileSync(path, "{torn");
    expect(() => readBlock(path)).toThrow(expect.objectContaining({ code: "E_STORE_CORRUPT" }));
    expect(() => readBlock(join(path, "below"))).toThrow(expect.objectContaining({ code: "E_IO" }));
  });
});
