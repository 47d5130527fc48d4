import { mkdirSync, mkdtempSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { FolderNames } from "../../../src/files/folder-names.js";

/** Longer than a change counts as one that may go on. */
const SETTLED_MS = 60;

let folder: string;
let names: FolderNames;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-names-"));
  writeFileSync(join(folder, "a"), "");
  names = new FolderNames(folder);
});
afterEach(() => {
  vi.restoreAllMocks();
  for (const each of [folder, elsewhere()]) rmSync(each, { recursive: true, force: true });
});

function seen(): number {
  names.look();
  return names.generation;
}

describe("the names in a folder", () => {
  it("STORE-2: stay as they are while nobody changes one, whatever is written into the files", async () => {
    await sleep(SETTLED_MS);
    const before = seen();
    writeFileSync(join(folder, "a"), "more");
    expect(seen()).toBe(before);
    expect(seen()).toBe(before);
  });

  it.each([
    ["made", () => writeFileSync(join(folder, "b"), "")],
    ["removed", () => rmSync(join(folder, "a"))],
    [
      "replaced",
      () => {
        mkdirSync(elsewhere());
        writeFileSync(join(elsewhere(), "a"), "");
        renameSync(join(elsewhere(), "a"), join(folder, "a"));
      },
    ],
    [
      "all gone with their folder, which is another now",
      () => {
        renameSync(folder, `${folder}-old`);
        mkdirSync(folder);
        rmSync(`${folder}-old`, { recursive: true });
      },
    ],
    ["gone for good", () => rmSync(folder, { recursive: true })],
  ])("STORE-2: one that is %s shows", async (_, change) => {
    await sleep(SETTLED_MS);
    const before = seen();
    change();
    expect(seen()).not.toBe(before);
  });

  // kills: names-tick
  it("STORE-2: a folder that changed a moment ago may have changed once more in the same tick", () => {
    writeFileSync(join(folder, "b"), "");
    const { ctimeMs: changedAt } = statSync(folder);
    const clock = vi.spyOn(Date, "now").mockReturnValue(changedAt + 1);
    expect(seen()).not.toBe(seen());
    clock.mockReturnValue(changedAt + SETTLED_MS);
    const settled = seen();
    expect(seen()).toBe(settled);
  });
});

function elsewhere(): string {
  return `${folder}-other`;
}
