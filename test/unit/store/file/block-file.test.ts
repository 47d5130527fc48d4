import fs, { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FolderNames } from "../../../../src/files/folder-names.js";
import { BlockFile } from "../../../../src/store/file/tree/block-file.js";

interface Content {
  readonly version: number;
  readonly padding?: string;
}

const TWO_PAGES = "x".repeat(5_000);

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-block-"));
  path = join(folder, "tree.json");
});
afterEach(() => rmSync(folder, { recursive: true }));

/** The file as one process has it. Its names are settled and not looked at again: it has to notice by the file itself. */
async function openTrusting(): Promise<BlockFile<Content>> {
  const names = new FolderNames(folder);
  await sleep(60);
  names.look();
  const file = new BlockFile<Content>(path, names);
  file.read();
  return file;
}

function openOther(): BlockFile<Content> {
  const file = new BlockFile<Content>(path, new FolderNames(folder));
  file.read();
  return file;
}

describe("a file that several processes rewrite", () => {
  it.each([1_300, 1_400, 4_000])("STORE-2: %i letters of three bytes each come back as they are", (count) => {
    openOther().write({ version: 1 }, false);
    const content = { version: 2, padding: "語".repeat(count) };
    openOther().write(content, false);
    expect(openOther().read()).toEqual(content);
  });

  it("STORE-2: whoever has it open reads what another has written in place", async () => {
    openOther().write({ version: 1 }, false);
    const file = await openTrusting();
    openOther().write({ version: 2 }, false);
    expect(file.read()).toEqual({ version: 2 });
  });

  // kills: block-mark
  it.each([
    ["because it must survive a power cut", { version: 2 }, true],
    ["because it is longer than a page", { version: 2, padding: TWO_PAGES }, false],
  ])("STORE-2: one that was replaced says so, %s", async (_, content, durable) => {
    openOther().write({ version: 1 }, false);
    const file = await openTrusting();
    openOther().write(content, durable);
    expect(file.read()).toEqual(content);
    openOther().write({ version: 3 }, true);
    expect(file.read()).toEqual({ version: 3 });
    file.write({ version: 4 }, false);
    expect(openOther().read()).toEqual({ version: 4 });
  });

  it("STORE-2: one that was to be replaced by a process that died is read and written as before", async () => {
    openOther().write({ version: 1 }, false);
    const file = await openTrusting();
    const { size } = statSync(path);
    truncateSync(path, size - 1);
    appendFileSync(path, " ");
    expect([file.read(), file.read()]).toEqual([{ version: 1 }, { version: 1 }]);
    file.write({ version: 2 }, false);
    expect(readFileSync(path, "utf8").endsWith("\n")).toBe(true);
    expect(openOther().read()).toEqual({ version: 2 });
  });

  it("STORE-2: one that somebody changed by hand is read as it is", async () => {
    openOther().write({ version: 1 }, false);
    const file = await openTrusting();
    writeFileSync(path, `${JSON.stringify({ version: 2, padding: TWO_PAGES })}\n`);
    expect(file.read()).toEqual({ version: 2, padding: TWO_PAGES });
    writeFileSync(path, "");
    expect(file.read()).toBeNull();
  });

  // kills: block-opened
  it("STORE-2: one that is replaced between the look at its name and its opening is not taken for the one looked at", async () => {
    const other = openOther();
    other.write({ version: 1 }, true);
    const names = new FolderNames(folder);
    const file = new BlockFile<Content>(path, names);
    const open = fs.openSync;
    fs.openSync = (name, ...more) => {
      if (name === path) {
        fs.openSync = open;
        syncBuiltinESMExports();
        other.close();
        openOther().write({ version: 2 }, true);
      }
      return open(name, ...more);
    };
    syncBuiltinESMExports();
    names.look();
    expect(file.read()).toEqual({ version: 2 });
    // Some file systems give the next file the number of the first.
    openOther().write({ version: 3 }, true);
    names.look();
    expect(file.read()).toEqual({ version: 3 });
  });
});
