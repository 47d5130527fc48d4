import { describe, expect, it } from "vitest";
import { EMPTY_CHAIN } from "../../../../src/lock/audit.js";
import type { Key } from "../../../../src/lock/key.js";
import {
  acquire,
  newPlace,
  open,
  openRaw,
  pairs,
  release,
  stillClock,
  verify,
} from "../../../fixtures/sqlite/database.fixture.js";

const TREE = "tree" as Key;

describe("the audit trail in blocks", () => {
  it("AUDIT-2: reads back thousands of entries, in order and chained, from any place on", async () => {
    const place = newPlace();
    const store = await open(place);
    await pairs(store, TREE, 1_500);
    expect(await verify(store, TREE)).toEqual({ ok: true, chains: 1, entries: 3_000, bad: [] });

    const entries = await store.reader.audit({ tree: TREE, afterSeq: 0, limit: 10_000 });
    expect(entries.map((entry) => entry.seq)).toEqual(Array.from({ length: 3_000 }, (_, at) => at + 1));
    let hash = EMPTY_CHAIN.hash;
    for (const entry of entries) {
      expect(entry.prev_hash).toBe(hash);
      hash = entry.hash;
    }
    for (const afterSeq of [0, 1, 11, 12, 13, 500, 2_990, 2_998, 2_999, 3_000])
      expect(await store.reader.audit({ tree: TREE, afterSeq, limit: 30 })).toEqual(
        entries.slice(afterSeq, afterSeq + 30),
      );
    const { blocks } = openRaw(place).prepare("SELECT count(*) AS blocks FROM audit").get() ?? {};
    expect(blocks).toBeGreaterThan(150);
  });

  it("AUDIT-2: keeps chains apart, and each whole, when steps touch several trees", async () => {
    const store = await open(newPlace());
    for (let time = 0; time < 40; time += 1) await release(store, await acquire(store, ["a/x", "b", "c/y/z"]));
    expect(await store.reader.verifyAudit(null)).toEqual({ ok: true, chains: 3, entries: 240, bad: [] });
    const [a, b] = await Promise.all(
      ["a", "b"].map((tree) => store.reader.audit({ tree: tree as Key, afterSeq: 50, limit: 1 })),
    );
    expect(a?.[0]?.details.op_id).toBe(b?.[0]?.details.op_id);
  });

  it("keeps entries that are longer than a page, and odd characters, as they are", async () => {
    const clock = stillClock();
    const store = await open(newPlace(), clock);
    const metadata = { note: 'ä€😀\u2028"\\\n\ud800 '.repeat(500), "10": 1, "2": [null, { deep: -0.5e-7 }] };
    for (let time = 0; time < 5; time += 1) {
      await acquire(store, TREE, { metadata });
      clock.forward(40_000);
    }
    await release(store, await acquire(store, TREE));
    const entries = await store.reader.audit({ tree: TREE, afterSeq: 0, limit: 100, event: "stolen" });
    expect(entries).toHaveLength(5);
    expect(entries[0]?.details.previous).toMatchObject({ metadata: JSON.parse(JSON.stringify(metadata)) });
    expect((await verify(store, TREE)).ok).toBe(true);
  });

  it("takes more entries in one step than a block has room for", async () => {
    const store = await open(newPlace());
    const keys = Array.from({ length: 64 }, (_, at) => `${TREE}/key-${at}`);
    for (let time = 0; time < 3; time += 1) await release(store, await acquire(store, keys));
    expect(await verify(store, TREE)).toEqual({ ok: true, chains: 1, entries: 384, bad: [] });
  });

  it("stays one chain when connections take turns", async () => {
    const place = newPlace();
    const stores = [await open(place), await open(place), await open(place)];
    for (let time = 0; time < 100; time += 1) for (const store of stores) await pairs(store, TREE, time % 3);
    expect(await verify(await open(place), TREE)).toEqual({ ok: true, chains: 1, entries: 594, bad: [] });
  });
});
