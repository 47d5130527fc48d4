import { expect, it } from "vitest";
import type { Key } from "../../../../src/lock/key.js";
import { acquire, newPlace, open, openRaw } from "../../../fixtures/sqlite/database.fixture.js";
import { acquireRequest } from "../../../fixtures/store/acquire-request.fixture.js";

it("LOCK-13: passes over rows that cannot be read, and counts only places that can", async () => {
  const place = newPlace();
  const store = await open(place);
  await acquire(store, ["a", "b", "c"], { tokenHash: "holder" });
  for (const key of ["a", "b", "c"])
    await store.locks.acquire(acquireRequest(key, { tokenHash: key, waitMs: 600_000, party: partyOf(key) }));
  const raw = openRaw(place);
  raw.exec("UPDATE tickets SET ticket = 'torn' WHERE resource = 'a'");
  raw.exec("BEGIN IMMEDIATE"); // Somebody writes meanwhile.
  expect((await store.reader.waiting(1)).map(({ owner }) => owner)).toEqual(["agent:b"]);
  expect((await store.reader.waiting(9)).map(({ owner }) => owner)).toEqual(["agent:b", "agent:c"]);
  raw.exec("ROLLBACK");
  expect((await store.reader.inspect("c" as Key)).waiters).toHaveLength(1);
});

function partyOf(name: string) {
  return { owner: `agent:${name}`, holderId: "host:me:1:1", nonce: name, proof: { kind: "none" } } as const;
}
