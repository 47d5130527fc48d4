import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Key } from "../../src/lock/key.js";
import { createSystemClock } from "../../src/platform/clock.js";
import { newNonce } from "../../src/platform/liveness/proof-of-life.js";
import type { Abilities, Party, Store } from "../../src/store/contract.js";
import { openStore } from "../../src/store/open.js";
import { sharedServer } from "../fixtures/postgres/server.fixture.js";
import { newPostgresStore } from "../fixtures/postgres/stores.fixture.js";

const key = "abilities" as Key;

/** Calls the method that each fact is about. */
function callsOf(store: Store): Readonly<Record<keyof Abilities, () => unknown>> {
  const nonce = newNonce();
  const party: Party = { owner: "agent:a", holderId: "here", nonce, proof: { kind: "none" } };
  return {
    handsOver: () => store.locks.handed(key, "no such hash"),
    commitsFree: () => store.fence.commitFree([key], () => undefined),
    clearsUnreadable: () => store.upkeep.clearUnreadable(key, party),
    commandsInherit: () => store.proveForCommand(nonce, {}),
  };
}

describe.each(["memory", "file", "sqlite", "postgres"])("the abilities of a store (%s)", (scheme) => {
  let dir: string;
  let store: Store;

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), "holdfast-abilities-"));
    const url =
      scheme === "postgres" ? await newPostgresStore(await sharedServer()) : `${scheme}:${join(dir, "store")}`;
    store = await openStore(url, {}, createSystemClock());
  }, 240_000);
  afterAll(async () => {
    await store.close();
    rmSync(dir, { recursive: true });
  });

  it("say which methods work, and the others throw", async () => {
    const works: Record<string, boolean> = {};
    for (const [fact, call] of Object.entries(callsOf(store)))
      works[fact] = await Promise.resolve()
        .then(call)
        .then(
          () => true,
          (error: unknown) => {
            expect(error).toBeInstanceOf(RangeError);
            return false;
          },
        );
    expect(works).toEqual(store.abilities);
  });
});
