import { describe, expect, it } from "vitest";
import type { Grant } from "../../../../src/lock/grant.js";
import type { Key } from "../../../../src/lock/key.js";
import type { Store } from "../../../../src/store/contract.js";
import { acquire, newPlace, open, openRaw, pairs } from "../../../fixtures/sqlite/database.fixture.js";

/** Names that sort between a key and the keys below it. */
const KEYS = [
  "a",
  "a%",
  "a+b",
  "a,b/x",
  "a-b",
  "a-b/x",
  "a.b",
  "a/b",
  "a/b-c",
  "a/b/c",
  "a/c",
  "a0",
  "a:b",
  "b/x/y",
  "~",
];

async function reading(store: Store, key: string, readers: number): Promise<void> {
  for (let reader = 0; reader < readers; reader += 1)
    await acquire(store, key, {
      wants: [{ resource: key as Key, mode: "read", permits: null }],
      tokenHash: `${key} ${reader}`,
    });
}

async function inPages(store: Store, prefix: string | null, limit: number): Promise<Grant[]> {
  const found: Grant[] = [];
  for (;;) {
    const after = found.at(-1) ?? null;
    const page = await store.reader.list({ prefix: prefix as Key | null, after, limit });
    found.push(...page);
    if (page.length < limit) return found;
  }
}

const places = (grants: readonly Grant[]) => grants.map((grant) => `${grant.resource} ${grant.lockId}`);

describe("listing grants", () => {
  it("gives them in the order of keys, whatever the size of a page", async () => {
    const store = await open(newPlace());
    await pairs(store, "a-free", 1);
    for (const key of KEYS) await reading(store, key, 3);
    const all = await inPages(store, null, 1_000);
    expect(all).toHaveLength(3 * KEYS.length);
    expect(all.map((grant) => grant.resource)).toEqual(KEYS.flatMap((key) => [key, key, key]));
    expect(places(all)).toEqual([...places(all)].sort());
    for (const limit of [1, 2, 3, 7, 44, 45, 46]) expect(await inPages(store, null, limit)).toEqual(all);
  });

  it("keeps to a prefix: the key itself and what is below it", async () => {
    const store = await open(newPlace());
    for (const key of KEYS) await reading(store, key, 2);
    for (const prefix of ["a", "a/b", "a/b/c", "a-b", "b", "b/x/y", "free"]) {
      const within = KEYS.filter((key) => key === prefix || key.startsWith(`${prefix}/`));
      for (const limit of [1, 2, 3, 100]) {
        const found = await inPages(store, prefix, limit);
        expect(found.map((grant) => grant.resource)).toEqual(within.flatMap((key) => [key, key]));
      }
    }
  });

  it("passes over what cannot be read without ending a page early", async () => {
    const place = newPlace();
    const store = await open(place);
    for (const key of KEYS) await reading(store, key, 1);
    openRaw(place).exec("UPDATE dal_locks SET metadata = '{' WHERE resource IN ('a', 'a-b', 'a/b')");
    const readable = KEYS.filter((key) => !["a", "a-b", "a/b"].includes(key));
    for (const limit of [1, 2, 5, 100])
      expect((await inPages(store, null, limit)).map((grant) => grant.resource)).toEqual(readable);
    expect((await store.reader.inspect("a" as Key)).unreadable.map(({ resource }) => resource).sort()).toEqual([
      "a",
      "a/b",
    ]);
  });

  it("finds a grant again with all it had", async () => {
    const place = newPlace();
    const store = await open(place);
    const [plain] = await acquire(store, "plain", { metadata: { one: [1, { two: "drei €" }] } });
    const [rare] = await acquire(store, "project:p/map:m", { detached: true, graceMs: 77, leaseMs: 12_345 });
    const [permit] = await acquire(store, "pool", {
      wants: [{ resource: "pool" as Key, mode: "write", permits: 3 }],
    });
    const other = await open(place);
    const found = await other.reader.list({ prefix: null, after: null, limit: 10 });
    expect(found).toEqual([plain, permit, rare]);
  });
});
