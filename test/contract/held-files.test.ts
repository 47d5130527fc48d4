/** Each store lists the grants on files of all worktrees, and no other ones. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { kernelOf } from "../../src/client/kernel.js";
import { liveFiles } from "../../src/client/reading/overlaps.js";
import { openHoldfast } from "../../src/index.js";
import { sharedServer } from "../fixtures/postgres/server.fixture.js";
import { newPostgresStore } from "../fixtures/postgres/stores.fixture.js";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "holdfast-files-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const STORES: Readonly<Record<string, () => string | Promise<string>>> = {
  memory: () => `memory:${dir}`,
  file: () => `file:${join(dir, "store")}`,
  sqlite: () => `sqlite:${join(dir, "holdfast.db")}`,
  postgres: async () => newPostgresStore(await sharedServer()),
};

describe.each(Object.entries(STORES))("the files that are held (%s)", { timeout: 240_000 }, (_, urlOf) => {
  it("are listed of the main worktree and of each other one, and nothing else is", async () => {
    await using holdfast = await openHoldfast({ store: await urlOf(), owner: "agent:a", heart: "loop" });
    const keys = ["aaa/b", "pat", "path/a", "path@feat", "path@late/x/y", "path@late@5f/x", "pathology/a", "zzz/a"];
    for (const key of keys) await holdfast.acquire(key);
    const found = await liveFiles(kernelOf(holdfast));
    expect(found.map(({ resource }) => resource)).toEqual(["path/a", "path@feat", "path@late/x/y", "path@late@5f/x"]);
    const pages: string[][] = [];
    for await (const page of kernelOf(holdfast).filePages()) pages.push(page.map(({ resource }) => resource));
    expect(pages).toEqual([["path/a", "path@feat", "path@late/x/y", "path@late@5f/x", "pathology/a"]]);
  });
});
