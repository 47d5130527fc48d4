import { spawn } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Holdfast, openHoldfast } from "../../../../src/index.js";
import type { Key } from "../../../../src/lock/key.js";
import { createSystemClock } from "../../../../src/platform/clock.js";
import { openFileStore } from "../../../../src/store/file/open.js";
import type { TreeRecord } from "../../../../src/store/file/tree/tree-record.js";

/** As many as tree.json has room for. */
const ROOM = 4;
const MOVER = fileURLToPath(new URL("./key-mover.fixture.mjs", import.meta.url));

let dir: string;
let one: Holdfast;
let two: Holdfast;

const open = (owner: string): Promise<Holdfast> =>
  openHoldfast({ store: `file:${dir}`, owner, heart: "loop", wait: 0 });
const file = (...path: string[]): string => join(dir, "locks", "shop", ...path);
const record = (): TreeRecord => JSON.parse(readFileSync(file("tree.json"), "utf8")) as TreeRecord;
const kept = (): string[] => record().grants.map(({ resource }) => resource);

function filed(): string[] {
  const names = existsSync(file("below")) ? readdirSync(file("below"), { recursive: true, encoding: "utf8" }) : [];
  return names.filter((name) => name.endsWith(".json")).sort();
}

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "holdfast-kept-"));
  one = await open("agent:one");
  two = await open("agent:two");
});

afterEach(async () => {
  await one.close();
  await two.close();
  rmSync(dir, { recursive: true, force: true });
});

describe("grants on keys below", () => {
  it("LOCK-3: a few are kept in tree.json, and conflict above, below and on their key as anywhere", async () => {
    const lease = await one.acquire("shop/a/b");
    expect(kept()).toEqual(["shop/a/b"]);
    for (const key of ["shop", "shop/a", "shop/a/b", "shop/a/b/c"])
      await expect(two.acquire(key)).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
    await (await two.acquire("shop/a/c")).release();
    await lease.release();
    await (await two.acquire("shop")).release();
    expect(filed()).toEqual([]);
  });

  // kills: kept-moved
  it("those that were there make room for what comes, and their files go with them", async () => {
    const early = [];
    for (let at = 0; at < ROOM; at += 1) early.push(await one.acquire(`shop/early${at}`));
    expect([kept().length, filed()]).toEqual([ROOM, []]);
    const late = await one.acquire("shop/late");
    expect([kept(), filed().length, record().below]).toEqual([["shop/late"], ROOM, ROOM]);
    for (const [at, lease] of early.entries()) {
      await expect(two.acquire(`shop/early${at}`)).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
      await lease.renew();
      await lease.release();
    }
    expect([kept(), filed(), record().below]).toEqual([["shop/late"], [], 0]);
    await late.release();
    await (await two.acquire("shop")).release();
  });

  it("LOCK-11: more at once than there is room for", async () => {
    const keys = Array.from({ length: ROOM + 2 }, (_, at) => `shop/k${at}`);
    const lease = await one.acquire(keys);
    expect([kept().length, filed().length]).toEqual([ROOM, 2]);
    await expect(two.acquire("shop")).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
    await lease.release();
    expect([kept(), filed(), record().below]).toEqual([[], [], 0]);
  });

  // kills: kept-detached
  it("LOCK-5: a detached one has a file, and takes those along that share its key: tree.json need not be synced for it", async () => {
    const reader = await one.acquire("shop/a", { mode: "read" });
    expect(kept()).toEqual(["shop/a"]);
    const detached = await two.acquire("shop/a", { mode: "read", detached: true });
    expect([kept(), filed()]).toEqual([[], ["a.json"]]);
    await reader.release();
    await expect(one.acquire("shop/a")).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
    await detached.release();
    expect([filed(), record().below]).toEqual([[], 0]);
  });

  it("one with much to tell has a file", async () => {
    const lease = await one.acquire("shop/a", { metadata: { note: "x".repeat(4_000) } });
    expect([kept(), filed()]).toEqual([[], ["a.json"]]);
    await lease.release();
    expect(filed()).toEqual([]);
  });

  // kills: kept-in-both
  it("STORE-2: one that a power cut left in both places counts once, and is given up in both", async () => {
    const lease = await one.acquire("shop/a");
    const others = await Promise.all(["b", "c", "d"].map((name) => one.acquire(`shop/${name}`)));
    copyFileSync(file("tree.json"), join(dir, "older"));
    others.push(await one.acquire("shop/e"));
    expect(filed()).toContain("a.json");
    const { grants } = JSON.parse(readFileSync(join(dir, "older"), "utf8")) as TreeRecord;
    writeFileSync(file("tree.json"), `${JSON.stringify({ ...record(), grants: [...record().grants, ...grants] })}\n`);
    expect((await two.inspect("shop/a")).grants).toHaveLength(1);
    const before = readFileSync(file("below", "a.json"), "utf8");
    await (await two.acquire(["x", "y", "z"].map((name) => `shop/${name}`))).release();
    expect(readFileSync(file("below", "a.json"), "utf8")).toBe(before);
    await lease.renew();
    expect(kept()).not.toContain("shop/a");
    await lease.release();
    for (const other of others) await other.release();
    expect([kept(), filed(), record().below]).toEqual([[], [], 0]);
  });

  it("STALE-7: what makes no sense counts as held, on its key or on the tree's, and harms no other reading", async () => {
    const lease = await one.acquire("shop/a", { mode: "read" });
    const spoil = (change: (grants: TreeRecord["grants"]) => readonly unknown[]): void =>
      writeFileSync(file("tree.json"), `${JSON.stringify({ ...record(), grants: change(record().grants) })}\n`);
    for (const strange of [null, 7, {}, { ...record().grants[0], resource: "shop/" }, { resource: "other/x" }]) {
      spoil((grants) => [...grants, strange]);
      await expect(two.acquire("shop")).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
      await lease.renew();
      expect((await two.inspect("shop/a")).state).toBe("held");
      expect((await two.list()).map(({ resource }) => resource)).toEqual(["shop/a"]);
      expect(record().grants).toContainEqual(strange);
      spoil((grants) => grants.filter((grant) => grant?.resource === "shop/a"));
    }
    spoil((grants) => [...grants, null]);
    const store = await openFileStore(dir, {}, createSystemClock());
    const party = { owner: "admin:a", holderId: "h:u:1:1", nonce: "ab".repeat(12), proof: { kind: "none" } as const };
    await store.upkeep.clearUnreadable("shop" as Key, party);
    await store.close();
    expect(kept()).toEqual(["shop/a"]);
  });

  it("STORE-2: a file with a grant in it twice, and one with a stranger's name, make no second holder", async () => {
    const lease = await one.acquire("shop/a", { metadata: { note: "x".repeat(4_000) } });
    const node = JSON.parse(readFileSync(file("below", "a.json"), "utf8")) as { readonly grants: readonly unknown[] };
    writeFileSync(file("below", "a.json"), JSON.stringify({ ...node, grants: [...node.grants, ...node.grants] }));
    await lease.renew();
    await expect(two.acquire("shop/a")).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
    writeFileSync(file("below", "%e9.json"), "{}");
    expect((await two.inspect("shop")).state).toBe("held");
    await lease.release();
  });

  it("LOCK-16: a node gets a file when it has more grants than there is room for", async () => {
    const places = [];
    for (let at = 0; at < 8; at += 1) places.push(await one.acquire("shop/pool", { permits: 8 }));
    const lease = await one.acquire("shop/a");
    expect([kept(), filed(), record().below]).toEqual([["shop/a"], ["pool.json"], 8]);
    await expect(two.acquire("shop/pool", { permits: 8 })).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
    for (const place of places) await place.release();
    expect([kept(), filed(), record().below]).toEqual([["shop/a"], [], 0]);
    await lease.release();
  });

  it("what is kept fits into the page that is written in place", async () => {
    const note = "é".repeat(60);
    await one.acquire("shop", { mode: "read" });
    for (let at = 0; at < 9; at += 1) {
      await one.acquire(`shop/${"k".repeat(90)}${at}`, { mode: "read", metadata: { note } });
      expect(Buffer.byteLength(JSON.stringify(record()))).toBeLessThan(4_096);
    }
    expect(kept().length).toBeGreaterThan(1);
  });

  it("a tree of a newer version is refused and left alone", async () => {
    await (await one.acquire("shop/a")).release();
    const rewrite = (version: number): void =>
      writeFileSync(file("tree.json"), `${JSON.stringify({ ...record(), schema_version: version })}\n`);
    expect(record().schema_version).toBe(1);
    rewrite(2);
    const newer = readFileSync(file("tree.json"), "utf8");
    await expect(two.acquire("shop")).rejects.toMatchObject({ code: "E_FORMAT_UNSUPPORTED" });
    expect(readFileSync(file("tree.json"), "utf8")).toBe(newer);
    rewrite(1);
  });

  it("STORE-2: whoever looks without the guard sees what is held, also while it moves from one place to the other", async () => {
    const told = join(dir, "told");
    const mover = spawn(process.execPath, [MOVER, `file:${dir}`, "shop", told], { stdio: "ignore" });
    const moving = (): string => (existsSync(told) ? readFileSync(told, "utf8") : "");
    try {
      await expect.poll(moving, { timeout: 60_000 }).not.toBe("");
      let looks = 0;
      for (const until = Date.now() + 1_500; Date.now() < until; ) {
        const before = moving();
        if (before === "") continue;
        const listed = (await one.list()).map(({ resource }) => resource);
        const { state } = await one.inspect(`shop/moving/${before}`);
        if (moving() !== before) continue;
        expect(listed).toContain(`shop/moving/${before}`);
        expect(state).toBe("held");
        looks += 1;
      }
      expect(looks).toBeGreaterThan(50);
    } finally {
      mover.kill("SIGKILL");
    }
  });
});
