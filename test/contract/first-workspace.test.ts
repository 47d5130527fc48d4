/** Each store keeps the id of the first workspace that recorded it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createSystemClock } from "../../src/platform/clock.js";
import type { Store } from "../../src/store/contract.js";
import { openStore, openStoreForReading } from "../../src/store/open.js";
import { sharedServer } from "../fixtures/postgres/server.fixture.js";
import { newPostgresStore } from "../fixtures/postgres/stores.fixture.js";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "holdfast-first-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const STORES: Readonly<Record<string, () => string | Promise<string>>> = {
  memory: () => `memory:${dir}`,
  file: () => `file:${join(dir, "store")}`,
  sqlite: () => `sqlite:${join(dir, "holdfast.db")}`,
  postgres: async () => newPostgresStore(await sharedServer()),
};

function open(url: string): Promise<Store> {
  return openStore(url, {}, createSystemClock());
}

describe.each(Object.entries(STORES))("a store (%s)", { timeout: 240_000 }, (name, urlOf) => {
  // kills: file-first-workspace (file), sqlite-first-workspace (sqlite), postgres-first-workspace (postgres)
  it("keeps the first workspace that names itself, however many come at once", async () => {
    const url = await urlOf();
    const stores = await Promise.all(Array.from({ length: 6 }, () => open(url)));
    const answers = await Promise.all(stores.map((store, at) => store.adoptWorkspace(`workspace-${at}`)));
    const [first = ""] = answers;
    expect(new Set(answers)).toEqual(new Set([first]));
    expect(first).toMatch(/^workspace-\d$/);
    await using more = { store: await open(url), [Symbol.asyncDispose]: () => more.store.close() };
    for (const store of stores) await store.close();
    expect(await more.store.adoptWorkspace("another")).toBe(first);
    more.store.assertInPlace();
    if (name === "file" || name === "sqlite") {
      const reader = await openStoreForReading(url, {}, createSystemClock());
      await expect(reader?.adoptWorkspace("another")).rejects.toMatchObject({ code: "E_STORE_UNAVAILABLE" });
      await reader?.close();
    }
  });
});
