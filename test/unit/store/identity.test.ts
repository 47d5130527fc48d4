import {
  copyFileSync,
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isLostStore } from "../../../src/base/lost-store.js";
import type { Grant } from "../../../src/lock/grant.js";
import type { Key } from "../../../src/lock/key.js";
import { createSystemClock } from "../../../src/platform/clock.js";
import type { Store } from "../../../src/store/contract.js";
import { examineStore, identifyStore, openStore } from "../../../src/store/open.js";
import { acquire, openRaw } from "../../fixtures/sqlite/database.fixture.js";
import { PARTY } from "../../fixtures/store/acquire-request.fixture.js";

const clock = createSystemClock();
let dir: string;
const stores: Store[] = [];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "holdfast-identity-"));
});
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close().catch(() => undefined);
  rmSync(dir, { recursive: true, force: true });
});

async function open(url: string, expectedId?: string): Promise<Store> {
  const store = await openStore(url, {}, clock, expectedId);
  stores.push(store);
  return store;
}

async function closed(url: string): Promise<string> {
  const store = await openStore(url, {}, clock);
  await store.close();
  return store.id;
}

const lostBy = (lost: string) => ({ code: "E_STORE_CORRUPT", retryable: false, details: { lost } });

/** A store on the disk, its folder, and the file that says which store it is. */
const KINDS = [
  { kind: "sqlite", urlIn: (home: string) => `sqlite:${join(home, "holdfast.db")}`, mark: "holdfast.db" },
  { kind: "file", urlIn: (home: string) => `file:${home}`, mark: "store.json" },
] as const;

describe.each(KINDS)("the id of a $kind store", ({ urlIn, mark }) => {
  const home = () => join(dir, "home");
  const url = () => urlIn(home());

  it("is made with the store, stays, and is in a copy of the folder", async () => {
    expect(await identifyStore(url())).toBeNull();
    expect(existsSync(home())).toBe(false);
    const first = await open(url());
    expect(first.id).toMatch(/^[0-9a-f-]{36}$/);
    expect((await open(url(), first.id)).id).toBe(first.id);
    expect(await identifyStore(url())).toBe(first.id);
    const examined = await examineStore(url());
    expect(examined?.id).toBe(first.id);
    await examined?.close();
    for (const store of stores.splice(0)) await store.close();
    expect(await closed(url())).toBe(first.id);
    cpSync(home(), join(dir, "copy"), { recursive: true });
    expect(await identifyStore(urlIn(join(dir, "copy")))).toBe(first.id);
    expect(await closed(urlIn(join(dir, "other")))).not.toBe(first.id);
  });

  it("is told without any change, also of a store that no process has open", async () => {
    const id = await closed(url());
    rmSync(join(home(), `${mark}-wal`), { force: true });
    rmSync(join(home(), `${mark}-shm`), { force: true });
    const before = readdirSync(home());
    expect(await identifyStore(url())).toBe(id);
    expect(readdirSync(home())).toEqual(before);
  });

  // kills: sqlite-expected, file-expected
  it("that is expected refuses every other store, and creates nothing", async () => {
    await expect(openStore(url(), {}, clock, "x")).rejects.toMatchObject(lostBy("missing"));
    expect(existsSync(home())).toBe(false);
    const other = await closed(url());
    await expect(openStore(url(), {}, clock, "x")).rejects.toMatchObject({
      ...lostBy("replaced"),
      details: { lost: "replaced", expected_id: "x", found_id: other },
      next: expect.arrayContaining([expect.stringContaining("holdfast init")]),
    });
    const held = await open(url());
    await expect(openStore(url(), {}, clock, "x")).rejects.toMatchObject(lostBy("replaced"));
    await held.close();
    truncateSync(join(home(), mark));
    const before = readdirSync(home());
    await expect(openStore(url(), {}, clock, other)).rejects.toMatchObject(lostBy("emptied"));
    expect(statSync(join(home(), mark)).size).toBe(0);
    expect(readdirSync(home())).toEqual(before);
    expect(await identifyStore(url())).toBeNull();
    rmSync(join(home(), mark));
    await expect(openStore(url(), {}, clock, other)).rejects.toMatchObject(lostBy("missing"));
    expect(existsSync(join(home(), mark))).toBe(false);
  });

  // kills: named-file-emptied, sqlite-emptied
  it("emptied in place is not set up anew, beside its holders and after them", async () => {
    const store = await open(url());
    store.prove("nonce", {});
    await acquire(store, "tree/a");
    truncateSync(join(home(), mark));
    await expect(openStore(url(), {}, clock)).rejects.toSatisfy(isLostStore);
    expect(() => store.assertInPlace()).toThrow("was emptied");
    await store.close();
    expect(statSync(join(home(), mark)).size).toBe(0);
    for (const end of ["-wal", "-shm"]) rmSync(join(home(), `${mark}${end}`), { force: true });
    await expect(openStore(url(), {}, clock)).rejects.toMatchObject(lostBy("emptied"));
  });

  describe.each([
    { how: "deleted", act: () => rmSync(home(), { recursive: true }) },
    { how: "moved away", act: () => renameSync(home(), join(dir, "away")) },
    {
      how: "moved away, and a copy put in its place",
      act: () => {
        renameSync(home(), join(dir, "away"));
        cpSync(join(dir, "away"), home(), { recursive: true });
      },
    },
  ])("when the store is $how", ({ act }) => {
    // kills: step-in-place, file-in-place, sqlite-in-place, guard-made-in-place
    it("every step that relies on a grant is refused at once, and nothing is made at the path", async () => {
      const store = await open(url());
      const grants = await acquire(store, "tree");
      const fence = (grants[0] as Grant).fencingToken;
      act();
      const before = existsSync(home()) ? readdirSync(home(), { recursive: true }) : null;
      const write = () => expect.unreachable("it wrote");
      for (const refused of [
        store.fence.commit(grants, write),
        store.fence.commitFree(["free" as Key], write),
        store.fence.verify("tree" as Key, fence),
        store.locks.renew(grants, null),
        store.locks.resume(grants, "hash", PARTY),
        store.locks.downgrade(grants, PARTY),
      ])
        await expect(refused).rejects.toSatisfy(isLostStore);
      expect(() => store.prove("another", {})).toThrow("the store");
      expect(() => store.assertInPlace()).toThrow("the store");
      expect(existsSync(home()) ? readdirSync(home(), { recursive: true }) : null).toEqual(before);
    });
  });

  // kills: publish-in-place
  it("that is gone ends the steps of a publish", async () => {
    const store = await open(url());
    const [grant] = await acquire(store, "tree");
    rmSync(home(), { recursive: true });
    const draft = { target: join(dir, "target"), pathKey: null } as Parameters<Store["manifests"]["begin"]>[2];
    await expect(store.manifests.begin(grant as Grant, PARTY, draft)).rejects.toSatisfy(isLostStore);
  });
});

describe("a database", () => {
  const path = () => join(dir, "holdfast.db");

  // kills: transaction-in-place, sqlite-script-in-place
  it("that was replaced takes no transaction and no script", async () => {
    const store = await open(`sqlite:${path()}`);
    const grants = await acquire(store, "tree");
    await closed(`sqlite:${join(dir, "other.db")}`);
    store.assertInPlace(); // Steps that need not look would not, for a moment.
    renameSync(join(dir, "other.db"), path());
    const write = () => expect.unreachable("it wrote");
    await expect(store.transactions?.write(grants, write, 1_000)).rejects.toSatisfy(isLostStore);
    // biome-ignore lint/correctness/useYield: a script that asks for nothing.
    const script = function* () {
      return write();
    };
    await expect(store.scripts?.run(script, { durable: true })).rejects.toSatisfy(isLostStore);
  });

  it("of another program gets the tables of a store, and keeps its own", async () => {
    const raw = openRaw(path());
    raw.exec("CREATE TABLE mine (x); INSERT INTO mine VALUES (1)");
    raw.close();
    expect(await identifyStore(`sqlite:${path()}`)).toBeNull();
    await expect(openStore(`sqlite:${path()}`, {}, clock, "x")).rejects.toMatchObject(lostBy("emptied"));
    const looked = openRaw(path());
    expect(looked.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "delete" });
    looked.close();
    const store = await open(`sqlite:${path()}`);
    await acquire(store, "tree");
    store.assertInPlace();
    expect(openRaw(path()).prepare("SELECT x FROM mine").get()).toEqual({ x: 1 });
    expect(await identifyStore(`sqlite:${path()}`)).toBe(store.id);
  });

  it("is not made in the place of an empty file, which may have been one", async () => {
    writeFileSync(path(), "");
    await expect(openStore(`sqlite:${path()}`, {}, clock)).rejects.toMatchObject(lostBy("emptied"));
    expect(readdirSync(dir)).toEqual([basename(path())]);
  });

  it("that is missing does not take over a WAL that was left there", async () => {
    const first = await open(`sqlite:${path()}`);
    await acquire(first, "tree");
    copyFileSync(`${path()}-wal`, join(dir, "left"));
    await first.close();
    for (const end of ["", "-wal", "-shm"]) rmSync(`${path()}${end}`, { force: true });
    copyFileSync(join(dir, "left"), `${path()}-wal`);
    const second = await open(`sqlite:${path()}`);
    expect(second.id).not.toBe(first.id);
    expect(await second.reader.list({ prefix: null, after: null, limit: 10 })).toEqual([]);
  });

  it.each([
    ["a turnstile", ["holdfast.db-turn"]],
    ["proofs of life of a store that was removed", ["alive"]],
    [
      "a part of a database under a private name",
      ["holdfast.db-turn", "holdfast.db-new-1", "holdfast.db-new-1-journal"],
    ],
  ])("is begun by the next process where a crash of the first left %s", async (_, left) => {
    for (const name of left)
      if (name === "alive") mkdirSync(join(dir, name));
      else writeFileSync(join(dir, name), name.endsWith("turn") ? "" : "a part");
    const store = await open(`sqlite:${path()}`);
    await acquire(store, "tree");
    expect(readdirSync(dir).filter((name) => name.includes("-new-"))).toEqual([]);
  });

  it("that was linked, and not yet unlinked from its private name, is whole", async () => {
    const id = await closed(`sqlite:${path()}`);
    linkSync(path(), `${path()}-new-1`);
    const [one, other] = [await open(`sqlite:${path()}`), await open(`sqlite:${path()}`, id)];
    await acquire(one, "tree");
    expect(await other.reader.list({ prefix: null, after: null, limit: 10 })).toHaveLength(1);
  });

  it("is made whole by one of many that open it, with a name that needs escapes", async () => {
    const folder = join(dir, "a b%20?#é");
    mkdirSync(folder);
    const url = `sqlite:${join(folder, "c&d=e.db")}`;
    const all = await Promise.all(Array.from({ length: 8 }, () => open(url)));
    expect(new Set(all.map(({ id }) => id)).size).toBe(1);
    expect(readdirSync(folder).filter((name) => name.includes("-new-"))).toEqual([]);
    expect(await identifyStore(url)).toBe(all[0]?.id);
  });
});

describe("the id of a store in memory", () => {
  it("is its URL, while a client has it open", async () => {
    expect(await identifyStore("memory:identity")).toBeNull();
    await expect(openStore("memory:identity", {}, clock, "memory:identity")).rejects.toMatchObject(lostBy("missing"));
    const store = await open("memory:identity");
    expect(store.id).toBe("memory:identity");
    expect(await identifyStore("memory:identity")).toBe(store.id);
    expect((await open("memory:identity", store.id)).id).toBe(store.id);
  });
});
