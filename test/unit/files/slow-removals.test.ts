import { existsSync, mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { removeTree } from "../../../src/files/remove-tree.js";
import { HeldBack } from "../../../src/files/slow-removals.js";

let base: string;
let tree: string;

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "holdfast-held-"));
  tree = join(base, "tree");
  mkdirSync(join(tree, "inner"), { recursive: true });
  for (let at = 0; at < 40; at += 1) writeFileSync(join(tree, "inner", `f${at}`), "content");
});

afterEach(() => rmSync(base, { recursive: true, force: true }));

describe.runIf(process.platform === "linux")("what is held while its name goes (needs Linux)", () => {
  // kills: held-back-let-go
  it("PUB-1: is gone by name at once, takes a few descriptors whatever the tree's size, and is let go of", async () => {
    const held = new HeldBack();
    await removeTree(tree, { held });
    expect(existsSync(tree)).toBe(false);
    expect(openBelow(tree)).toBeGreaterThan(0);
    expect(openBelow(tree)).toBeLessThanOrEqual(16);
    held.letGo();
    await vi.waitFor(() => expect(openBelow(tree)).toBe(0));
  });

  it("is no reason to fail when it cannot be had", async () => {
    const held = new HeldBack();
    held.hold(join(tree, "no such file"));
    await removeTree(tree, { held });
    expect(existsSync(tree)).toBe(false);
    held.letGo();
    await vi.waitFor(() => expect(openBelow(tree)).toBe(0));
  });
});

/** Descriptors of this process on something that is, or was, in the folder. */
function openBelow(folder: string): number {
  let count = 0;
  for (const fd of readdirSync("/proc/self/fd")) {
    try {
      if (readlinkSync(`/proc/self/fd/${fd}`).startsWith(folder)) count += 1;
    } catch {
      // The one that lists them.
    }
  }
  return count;
}
