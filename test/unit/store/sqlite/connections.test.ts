import { rmSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { isLostStore } from "../../../../src/base/lost-store.js";
import type { Key } from "../../../../src/lock/key.js";
import type { Store } from "../../../../src/store/contract.js";
import { Database } from "../../../../src/store/sqlite/connection/database.js";
import {
  acquire,
  newPlace,
  open,
  openRaw,
  pairs,
  release,
  stillClock,
} from "../../../fixtures/sqlite/database.fixture.js";
import { acquireRequest } from "../../../fixtures/store/acquire-request.fixture.js";

const stranger = {
  party: { owner: "user:b", holderId: "host:b:2:2", nonce: "other", proof: { kind: "none" } as const },
};
const conflict = (store: Store, key: string) =>
  expect(store.locks.acquire(acquireRequest(key, { ...stranger, tokenHash: "another" }))).resolves.toMatchObject({
    kind: "conflict",
  });

describe("connections to one database", () => {
  it("see each other's grants at once, on the key, above it and below it", async () => {
    const place = newPlace();
    const [one, other] = [await open(place), await open(place)];
    for (let time = 0; time < 20; time += 1) {
      const [holder, rival] = time % 2 === 0 ? [one, other] : [other, one];
      const grants = await acquire(holder, "tree/a");
      for (const key of ["tree", "tree/a", "tree/a/b"]) await conflict(rival, key);
      await release(rival, await acquire(rival, "tree/b"));
      await release(holder, grants);
      const top = await acquire(holder, "tree");
      for (const key of ["tree", "tree/a"]) await conflict(rival, key);
      await release(holder, top);
    }
  });

  it("hear of a renewal that another made", async () => {
    const place = newPlace();
    const clock = stillClock();
    const [one, other] = [await open(place, clock), await open(place, clock)];
    const [grant] = await acquire(one, "tree", { leaseMs: 60 });
    if (grant === undefined) throw new Error("nothing was granted");
    for (let time = 0; time < 4; time += 1) {
      clock.forward(50);
      await other.locks.renew([grant], null);
      await expect(one.fence.verify("tree" as Key, grant.fencingToken)).resolves.toMatchObject({ renewals: time + 1 });
    }
    await release(one, [grant]);
    const entries = await other.reader.audit({ tree: "tree" as Key, afterSeq: 1, limit: 1 });
    expect(entries[0]?.details).toEqual({ renewals: 4 });
  });

  it("LOCK-8: hear that another has ended a grant", async () => {
    const place = newPlace();
    const [one, other] = [await open(place), await open(place)];
    const grants = await acquire(one, "tree");
    await other.locks.end({ resource: "tree" as Key, ...stranger, how: "broken", reason: "test" });
    const taken = await acquire(other, "tree", { ...stranger, tokenHash: "another" });
    await expect(one.fence.commit(grants, () => "written")).rejects.toMatchObject({ code: "E_FENCING_MISMATCH" });
    await expect(release(one, grants)).rejects.toMatchObject({ code: "E_LOCK_NOT_HELD" });
    await conflict(one, "tree");
    await release(other, taken);
    await release(one, await acquire(one, "tree"));
  });

  it("notice what is done past the store, also between two steps of their own", async () => {
    const place = newPlace();
    const store = await open(place);
    const grants = await acquire(store, "tree");
    openRaw(place).exec("DELETE FROM dal_locks");
    await expect(release(store, grants)).rejects.toMatchObject({ code: "E_LOCK_NOT_HELD" });
    expect(await pairs(store, "tree", 2)).toHaveLength(2);
  });

  // kills: sqlite-in-place, named-file-replaced, sqlite-read-gone
  it("STORE-3: do not go on in a file that was deleted, while others begin a new one at its path", async () => {
    const place = newPlace();
    const store = await open(place);
    const grants = await acquire(store, "tree");
    for (const end of ["", "-wal", "-shm"]) rmSync(`${place}${end}`);
    await acquire(await open(place), "tree", { ...stranger, tokenHash: "another" });
    await new Promise((resolve) => setTimeout(resolve, 100)); // It looks at its path every 50 ms.
    await expect(store.fence.commit(grants, () => "written")).rejects.toSatisfy(isLostStore);
    await expect(store.reader.list({ prefix: null, after: null, limit: 10 })).rejects.toSatisfy(isLostStore);
  });

  it("stand in one line, by number", async () => {
    const place = newPlace();
    const clock = stillClock();
    const stores = [await open(place, clock), await open(place, clock), await open(place, clock)];
    const [holder = await open(place, clock)] = stores;
    const grants = await acquire(holder, "tree");
    const numbers: number[] = [];
    for (const [at, store] of stores.entries()) {
      const waiting = { ...stranger, tokenHash: `hash ${at}`, waitMs: 60_000, ticketId: `ticket-${at}` };
      await expect(store.locks.acquire(acquireRequest("tree", waiting))).resolves.toMatchObject({ kind: "queued" });
      const { waiters } = await store.reader.inspect("tree" as Key);
      expect(waiters.map((ticket) => ticket.ticketId)).toEqual(
        Array.from({ length: at + 1 }, (_, place) => `ticket-${place}`),
      );
      numbers.push(waiters.at(-1)?.number ?? 0);
    }
    expect(numbers).toEqual([1, 2, 3]);
    await release(holder, grants);
    await conflict(holder, "tree");
  });

  it("wait for a writer that does not know of the others, and go on", async () => {
    const place = newPlace();
    const store = await open(place);
    const raw = openRaw(place);
    raw.exec("BEGIN IMMEDIATE");
    const done = pairs(store, "tree", 3);
    await new Promise((resolve) => setTimeout(resolve, 100));
    raw.exec("COMMIT");
    expect(await done).toHaveLength(3);
  });

  it("give up on one that never ends", async () => {
    const place = newPlace();
    const store = await open(place);
    const raw = openRaw(place);
    raw.exec("BEGIN IMMEDIATE");
    await expect(acquire(store, "tree")).rejects.toMatchObject({ code: "E_STORE_UNAVAILABLE", retryable: true });
    raw.exec("ROLLBACK");
    expect(await pairs(store, "tree", 1)).toHaveLength(1);
  });

  it("let a commit read and ask for more from inside its step", async () => {
    const store = await open(newPlace());
    const grants = await acquire(store, "tree");
    const inside = await store.fence.commit(grants, () => ({
      seen: store.reader.inspect("tree" as Key),
      more: pairs(store, "other", 1),
    }));
    expect((await inside.seen).grants).toHaveLength(1);
    expect(await inside.more).toHaveLength(1);
  });
});

describe("a statement of a connection", () => {
  it("is prepared at its first use, and a mistake in it is reported there", () => {
    const database = new Database(newPlace(), { creates: true });
    try {
      const rows = database.prepare("SELECT a FROM later");
      const wrong = database.prepare("SELECT a FROM never");
      database.exec("CREATE TABLE later (a)");
      expect(rows.all()).toEqual([]);
      expect(() => wrong.get()).toThrow("no such table: never");
    } finally {
      database.close();
    }
  });
});
