import { afterEach, describe, expect, it, vi } from "vitest";
import type { Grant } from "../../../../src/lock/grant.js";
import type { Key } from "../../../../src/lock/key.js";
import type { Clock } from "../../../../src/platform/clock.js";
import type { Script, Store } from "../../../../src/store/contract.js";
import { Database } from "../../../../src/store/sqlite/connection/database.js";
import {
  acquire,
  clockOf,
  newPlace,
  open,
  openRaw,
  pairs,
  release,
  stillClock,
} from "../../../fixtures/sqlite/database.fixture.js";
import { acquireRequest, PARTY } from "../../../fixtures/store/acquire-request.fixture.js";

const isRising = (tokens: readonly number[]) => tokens.every((token, at) => at === 0 || token > (tokens[at - 1] ?? 0));

function reservation(place: string): { fence: number; reserved: number } {
  const raw = openRaw(place);
  const row = raw.prepare("SELECT fence, fence_reserved AS reserved FROM trees WHERE tree = 'tree'").get();
  raw.close();
  return row as { fence: number; reserved: number };
}

/** What SQLite itself says about each commit: whether it returns only when the commit is on the disk. */
const SYNCED = 2;
const PLAIN = 1;

function watchCommits(): number[] {
  const modes: number[] = [];
  const { commit } = Database.prototype;
  vi.spyOn(Database.prototype, "commit").mockImplementation(function (this: Database) {
    modes.push(Number(this.prepare("PRAGMA synchronous").get()?.[0]));
    commit.call(this);
  });
  return modes;
}

function* acquiring(): Script<unknown> {
  return yield { ask: "acquire", request: acquireRequest("tree/b") };
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe("fencing tokens", () => {
  it("FENCE-1: a new tree starts from the time in microseconds and counts without gaps, across blocks", async () => {
    const before = Date.now();
    const tokens = await pairs(await open(newPlace()), "tree", 2_500);
    expect(tokens[0]).toBeGreaterThan(before * 1000);
    expect(tokens[0]).toBeLessThanOrEqual(Date.now() * 1000 + 1);
    expect(tokens).toEqual(tokens.map((_, at) => (tokens[0] ?? 0) + at));
  });

  it("FENCE-1: no number is used before it is reserved", async () => {
    const place = newPlace();
    const store = await open(place);
    for (let time = 0; time < 30; time += 1) {
      const [last = 0] = (await pairs(store, "tree", 101)).slice(-1);
      const { fence, reserved } = reservation(place);
      expect(fence).toBe(last);
      expect(reserved).toBeGreaterThanOrEqual(last);
    }
  });

  it("FENCE-1: connections share a block, and a new one of the same boot goes on in it", async () => {
    const place = newPlace();
    const [one, other] = [await open(place), await open(place)];
    const tokens: number[] = [];
    for (let time = 0; time < 700; time += 1) {
      tokens.push(...(await pairs(one, "tree", 1)), ...(await pairs(other, "tree", 1)));
    }
    await one.close();
    await other.close();
    tokens.push(...(await pairs(await open(place), "tree", 1)));
    expect(tokens).toEqual(tokens.map((_, at) => (tokens[0] ?? 0) + at));
  });

  // kills: sqlite-unknown-boot-fence
  it("where the boot is unknown, each process goes on behind the reserved block, and takes it from none that knows", async () => {
    const place = newPlace();
    const known = await open(place, clockOf("this boot"));
    await pairs(known, "tree", 3);
    const { reserved } = reservation(place);
    const unknown = await open(place, clockOf(""));
    const [first = 0, second] = await pairs(unknown, "tree", 2);
    expect(first).toBeGreaterThan(reserved);
    expect(second).toBe(first + 1);
    const again = reservation(place).reserved;
    expect(await pairs(known, "tree", 1)).toEqual([first + 2]);
    expect(await pairs(unknown, "tree", 1)).toEqual([first + 3]);
    expect(reservation(place).reserved).toBe(again);
    expect((await pairs(await open(place, clockOf("")), "tree", 1))[0]).toBeGreaterThan(again);
  });

  it("FENCE-1: after a restart counting goes on behind the reserved block", async () => {
    const place = newPlace();
    const before = await open(place, clockOf("boot 1"));
    const tokens = await pairs(before, "tree", 3);
    const { reserved } = reservation(place);
    expect(reserved).toBeGreaterThan((tokens[2] ?? 0) + 900);
    await before.close();

    // A power cut may have taken the last commits with it, never the reservation.
    openRaw(place).exec("UPDATE trees SET fence = fence - 3");
    const after = await pairs(await open(place, clockOf("boot 2")), "tree", 2);
    expect(after[0]).toBeGreaterThan(reserved);
    expect(after[1]).toBe((after[0] ?? 0) + 1);
    const again = await pairs(await open(place, clockOf("boot 3")), "tree", 1);
    expect(again[0]).toBeGreaterThan(reserved + 1_000);
  });

  it("FENCE-1: processes of two boots on one store never share a number", async () => {
    const place = newPlace();
    const [one, other] = [await open(place, clockOf("boot 1")), await open(place, clockOf("boot 2"))];
    const tokens: number[] = [];
    for (let time = 0; time < 5; time += 1)
      tokens.push(...(await pairs(one, "tree", 1)), ...(await pairs(other, "tree", 1)));
    expect(isRising(tokens)).toBe(true);
  });

  it("FENCE-1: a counter that was lost starts from the time again, above all before it", async () => {
    const place = newPlace();
    const store = await open(place);
    const tokens = await pairs(store, "tree", 5);
    openRaw(place).exec("DELETE FROM trees");
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(isRising([...tokens, ...(await pairs(store, "tree", 5))])).toBe(true);
  });

  it("FENCE-1: a request that runs out of numbers in the middle gets new ones for all its keys", async () => {
    const place = newPlace();
    const store = await open(place);
    const keys = Array.from({ length: 64 }, (_, at) => `tree/${at}`);
    let last = 0;
    for (let time = 0; time < 40; time += 1) {
      const grants = await acquire(store, keys);
      const tokens = grants.map((grant) => grant.fencingToken).sort((a, b) => a - b);
      expect(isRising([last, ...tokens])).toBe(true);
      last = tokens.at(-1) ?? 0;
      await release(store, grants);
    }
  });

  it("FENCE-1: a step that needs more numbers than a block has gets them", async () => {
    const clock = stillClock();
    const store = await open(newPlace(), clock);
    const cover = await acquire(store, "tree", { leaseMs: 3_600_000 });
    for (let time = 0; time < 20; time += 1) {
      const keys = Array.from({ length: 64 }, (_, at) => `tree/${time}/${at}`);
      await acquire(store, keys, { presented: cover, tokenHash: "of what nests", leaseMs: 1_000 });
    }
    clock.forward(1_000);
    await release(store, cover);
    const [next] = await acquire(store, "tree");
    expect(next?.fencingToken).toBe((cover[0]?.fencingToken ?? 0) + 20 * 64 + 1);
  });

  it("a step that must survive a power cut is done once, whatever it takes", async () => {
    const place = newPlace();
    const store = await open(place);
    const [plain] = await acquire(store, "tree/a");
    const [detached] = await acquire(store, "tree/b", { detached: true });
    expect(detached?.fencingToken).toBe((plain?.fencingToken ?? 0) + 1);
    expect(await store.reader.audit({ tree: "tree" as Key, afterSeq: 0, limit: 10 })).toHaveLength(2);
    expect(await store.reader.list({ prefix: null, after: null, limit: 10 })).toHaveLength(2);
  });

  // kills: sqlite-durable, sqlite-reserved, durable-begins, durable-renews
  it("a step that must survive a power cut is on the disk before anybody is told, and so are reserved numbers", async () => {
    const store = await open(newPlace());
    const modes = watchCommits();
    const first = await acquire(store, "tree/a");
    expect(modes.splice(0)).toEqual([SYNCED, PLAIN]); // The numbers, then the grant.
    await release(store, first);
    expect(modes.splice(0)).toEqual([PLAIN]);
    const detached = await acquire(store, "tree/b", { detached: true });
    await store.locks.renew(detached, null);
    await release(store, detached);
    expect(modes).toEqual([SYNCED, SYNCED, SYNCED]);
  });

  // kills: sqlite-script-durable (script), durable-ends (the key above)
  it.each([
    ["an acquire", (store: Store) => acquire(store, "tree/b")],
    ["an acquire of the key above", (store: Store) => acquire(store, "tree")],
    ["an acquire by a script", (store: Store) => store.scripts?.run(acquiring, { durable: false })],
  ])("the end of a detached grant by %s is on the disk before anybody is told", async (_, end) => {
    const clock = stillClock();
    const store = await open(newPlace(), clock);
    const [detached] = await acquire(store, "tree/b", { detached: true, tokenHash: "of one that slept" });
    clock.forward(60_000);
    const modes = watchCommits();
    await end(store);
    expect(modes).toEqual([SYNCED]);
    await expect(store.locks.resume([detached as Grant], "another", PARTY)).rejects.toMatchObject({
      code: "E_LOCK_NOT_HELD",
    });
    expect(await store.reader.audit({ tree: "tree" as Key, afterSeq: 0, limit: 10 })).toHaveLength(3);
  });

  it("FENCE-1: a wall clock that was put back does not lower a number", async () => {
    const place = newPlace();
    const early: Clock = () => ({ ...clockOf("boot 2")(), wallMs: 1_000 });
    const tokens = await pairs(await open(place, clockOf("boot 1")), "tree", 2);
    expect(isRising([...tokens, ...(await pairs(await open(place, early), "tree", 2))])).toBe(true);
  });
});
