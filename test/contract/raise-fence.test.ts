/** After a restore a person raises the fence of a tree above a number that is known from outside. On each store. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Key } from "../../src/lock/key.js";
import { createSystemClock } from "../../src/platform/clock.js";
import { newNonce } from "../../src/platform/liveness/proof-of-life.js";
import type { Party, Store } from "../../src/store/contract.js";
import { openStore } from "../../src/store/open.js";
import { sharedServer } from "../fixtures/postgres/server.fixture.js";
import { newPostgresStore } from "../fixtures/postgres/stores.fixture.js";
import { pairs } from "../fixtures/sqlite/database.fixture.js";

const HOUR = 3_600_000_000;
const tree = "tree" as Key;

function by(owner: string): Party {
  return { owner, holderId: "here", nonce: newNonce(), proof: { kind: "none" } };
}

describe.each(["memory", "file", "sqlite", "postgres"])("a fence that is raised (%s)", (scheme) => {
  let dir: string;
  let url: string;
  let store: Store;

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), "holdfast-raised-"));
    url = scheme === "postgres" ? await newPostgresStore(await sharedServer()) : `${scheme}:${join(dir, "store")}`;
    store = await openStore(url, {}, createSystemClock());
  }, 240_000);
  afterAll(async () => {
    await store.close();
    rmSync(dir, { recursive: true });
  });

  it("is above the number, and all that come later are above it, in other processes too", async () => {
    const [last = 0] = await pairs(store, tree, 1);
    const raised = await store.upkeep.raiseFence(tree, last + HOUR, by("user:ann"));
    expect(raised).toBe(last + HOUR + 1);
    expect(await pairs(store, tree, 2)).toEqual([raised + 1, raised + 2]);
    if (scheme === "memory") return;
    const other = await openStore(url, {}, createSystemClock());
    expect(await pairs(other, tree, 1)).toEqual([raised + 3]);
    await other.close();
    expect((await store.reader.verifyAudit(tree)).ok).toBe(true);
  });

  it("is raised in a tree that the store does not know yet, with an entry in its chain", async () => {
    const above = Date.now() * 1000 + HOUR;
    const raised = await store.upkeep.raiseFence("new" as Key, above, by("admin:ann"));
    expect(raised).toBeGreaterThan(above);
    expect(await store.reader.audit({ tree: "new" as Key, afterSeq: 0, limit: 9 })).toMatchObject([
      { event: "fence_raised", owner: "admin:ann", fencing_token: raised, details: { reason: "after_restore", above } },
    ]);
    expect((await pairs(store, "new", 1))[0]).toBe(raised + 1);
  });

  // kills: raise-by-a-person (memory)
  it("is raised by a user or an admin only, and never lowered", async () => {
    const [last = 0] = await pairs(store, "kept", 1);
    for (const owner of ["agent:a", "job:7", "service:s"])
      await expect(store.upkeep.raiseFence("kept" as Key, last + HOUR, by(owner))).rejects.toMatchObject({
        code: "E_FORBIDDEN",
      });
    await expect(store.upkeep.raiseFence("kept" as Key, -1, by("user:ann"))).rejects.toMatchObject({
      code: "E_INVALID_ARGUMENT",
    });
    expect(await store.upkeep.raiseFence("kept" as Key, 1, by("user:ann"))).toBeGreaterThan(last);
  });
});
