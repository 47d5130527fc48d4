/** A store that is a copy: its original has given out numbers that the copy knows nothing of. */
import { cpSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Clock } from "../../../src/platform/clock.js";
import { createSystemClock } from "../../../src/platform/clock.js";
import { openStore } from "../../../src/store/open.js";
import { pairs } from "../../fixtures/sqlite/database.fixture.js";

const URLS = [
  ["SQLite", (home: string) => `sqlite:${home}/locks.db`],
  ["file", (home: string) => `file:${home}`],
] as const;

function newHome(): string {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-copied-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "home");
}

/** By one process, as far as the store can tell. */
async function minted(url: string, times: number, clock: Clock = createSystemClock()): Promise<number[]> {
  const store = await openStore(url, {}, clock);
  try {
    return await pairs(store, "tree", times);
  } finally {
    await store.close();
  }
}

describe.each(URLS)("a copy of a store (%s)", (_, urlOf) => {
  // kills: sqlite-copied (SQLite), file-copied (file)
  it("that takes the place of its original goes on above all that the original gave out", async () => {
    const home = newHome();
    const url = urlOf(home);
    await minted(url, 3);
    cpSync(home, `${home}-backup`, { recursive: true, preserveTimestamps: true });
    const lost = await minted(url, 5);
    rmSync(home, { recursive: true });
    renameSync(`${home}-backup`, home);

    const after = await minted(url, 2);
    expect(after[0]).toBeGreaterThan(lost.at(-1) ?? 0);
    expect(after[1]).toBe((after[0] ?? 0) + 1);
  });

  it("is noticed once: later processes go on in its block", async () => {
    const home = newHome();
    const url = urlOf(home);
    await minted(url, 3);
    cpSync(home, `${home}-copy`, { recursive: true });
    const [first = 0] = await minted(urlOf(`${home}-copy`), 1);
    expect(await minted(urlOf(`${home}-copy`), 2)).toEqual([first + 1, first + 2]);
  });

  it("is not what a store is that was moved: it goes on in its block", async () => {
    const home = newHome();
    const [last = 0] = (await minted(urlOf(home), 3)).slice(-1);
    renameSync(home, `${home}-moved`);
    expect(await minted(urlOf(`${home}-moved`), 1)).toEqual([last + 1]);
  });
});

it("a copy of a SQLite store goes on above its own reserved numbers when the clock was set back since", async () => {
  const home = newHome();
  const url = `sqlite:${home}/locks.db`;
  const before = await minted(url, 3);
  cpSync(home, `${home}-copy`, { recursive: true });
  const system = createSystemClock();
  const early: Clock = () => ({ ...system(), wallMs: system().wallMs - 3_600_000 });
  const [next = 0] = await minted(`sqlite:${home}-copy/locks.db`, 1, early);
  expect(next).toBeGreaterThan((before.at(-1) ?? 0) + 900);
});
