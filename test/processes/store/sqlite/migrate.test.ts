/** The way to a schema of a later version, with versions that there are not. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { statSync } from "node:fs";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import type { Key } from "../../../../src/lock/key.js";
import { createSystemClock } from "../../../../src/platform/clock.js";
import { MIGRATIONS, type Migration } from "../../../../src/store/sqlite/connection/schema.js";
import { examineSqliteStore } from "../../../../src/store/sqlite/examine.js";
import { createSqliteInstallation } from "../../../../src/store/sqlite/installation.js";
import {
  acquire,
  newPlace,
  open,
  openRaw,
  pairs,
  type RawDatabase,
  verify,
} from "../../../fixtures/sqlite/database.fixture.js";
import { acquireRequest } from "../../../fixtures/store/acquire-request.fixture.js";

const UPGRADER = fileURLToPath(new URL("./upgrader.fixture.mjs", import.meta.url));
const clock = createSystemClock();

/** More than SQLite keeps in memory before a commit, so that a crash leaves some of it in the WAL. It runs once or fails. */
const SECOND: Migration = {
  version: 2,
  about: "an invented version",
  sql: `
    CREATE TABLE upgrades (n INTEGER NOT NULL, padding BLOB);
    WITH RECURSIVE up (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM up WHERE n < 4000)
      INSERT INTO upgrades SELECT n, randomblob(1000) FROM up;
    ALTER TABLE trees ADD COLUMN colour TEXT NOT NULL DEFAULT 'green';
  `,
};
const THIRD: Migration = { version: 3, about: "another", sql: "CREATE TABLE more (n INTEGER);" };
const TWO = [...MIGRATIONS, SECOND];
const THREE = [...TWO, THIRD];

const versionOf = (raw: RawDatabase) => raw.prepare("PRAGMA user_version").get()?.user_version;
const schemaOf = (raw: RawDatabase) => raw.prepare("SELECT name, sql FROM sqlite_master ORDER BY name").all();
const upgradesIn = (raw: RawDatabase) => raw.prepare("SELECT count(*) AS count FROM upgrades").get()?.count;

/** A store of version 1 on which one grant without a process is held. */
async function storeOfVersionOne(): Promise<string> {
  const place = newPlace();
  const store = await open(place, clock);
  await pairs(store, "shop", 3);
  await acquire(store, "shop", { detached: true });
  await store.close();
  return place;
}

function startUpgrader(place: string, migrations: readonly Migration[], fatal = 0): ChildProcess {
  const args = [UPGRADER, place, JSON.stringify(migrations), String(fatal)];
  return spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
}

describe("a store of version 1", () => {
  it("is brought to version 2 by a program that knows it, and keeps what is held", async () => {
    const place = await storeOfVersionOne();
    expect(await createSqliteInstallation(place, TWO).pending()).toMatchObject([{ version: 2, about: SECOND.about }]);
    expect(() => examineSqliteStore(place, TWO)).toThrow(expect.objectContaining({ code: "E_CONFIG" }));
    const store = await open(place, clock, TWO);
    expect(await createSqliteInstallation(place, TWO).pending()).toEqual([]);
    const again = await store.locks.acquire(acquireRequest("shop", { tokenHash: "another" }));
    expect(again).toMatchObject({ kind: "conflict" });
    expect(await verify(store, "shop")).toMatchObject({ ok: true });
    await pairs(store, "other", 3);
    const raw = openRaw(place);
    expect([versionOf(raw), upgradesIn(raw)]).toEqual([2, 4_000]);
    const fresh = newPlace();
    await open(fresh, clock, TWO);
    expect(schemaOf(raw)).toEqual(schemaOf(openRaw(fresh)));
  });

  // kills: upgrade-version
  it("goes through every version to the newest one", async () => {
    const place = await storeOfVersionOne();
    const pending = await createSqliteInstallation(place, THREE).pending();
    expect(pending.map(({ version }) => version)).toEqual([2, 3]);
    await open(place, clock, THREE);
    expect(versionOf(openRaw(place))).toBe(3);
  });

  it("is upgraded once when many connections open it at once", async () => {
    const place = await storeOfVersionOne();
    const stores = await Promise.all(Array.from({ length: 8 }, () => open(place, clock, TWO)));
    await Promise.all(stores.map((store, at) => pairs(store, `tree-${at}`, 3)));
    const raw = openRaw(place);
    expect([versionOf(raw), upgradesIn(raw)]).toEqual([2, 4_000]);
  });

  it("is upgraded once when several processes open it at once", async () => {
    const place = await storeOfVersionOne();
    const upgraders = Array.from({ length: 4 }, () => startUpgrader(place, TWO));
    await Promise.all(upgraders.map(({ stdout }) => once(stdout as NodeJS.ReadableStream, "data")));
    const told = upgraders.map(async (child) => {
      child.stdin?.write("go\n");
      const ended = once(child, "close");
      return [await text(child.stdout as NodeJS.ReadableStream), await ended];
    });
    expect(await Promise.all(told)).toEqual(upgraders.map(() => ["open\n", [0, null]]));
    const raw = openRaw(place);
    expect([versionOf(raw), upgradesIn(raw)]).toEqual([2, 4_000]);
  });

  it.each([
    ["before the first migration", SECOND.version],
    ["between two migrations", THIRD.version],
  ])("is whole after a kill %s", async (_, fatal) => {
    const place = await storeOfVersionOne();
    const before = schemaOf(openRaw(place));
    const upgrader = startUpgrader(place, THREE, fatal);
    upgrader.stdin?.write("go\n");
    const [, signal] = await once(upgrader, "exit");
    expect(signal).toBe("SIGKILL");
    const isSpilled = statSync(`${place}-wal`).size > 1_000_000;
    expect(isSpilled).toBe(fatal === THIRD.version);
    const store = await open(place, clock);
    const raw = openRaw(place);
    expect(raw.prepare("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
    expect([versionOf(raw), schemaOf(raw)]).toEqual([1, before]);
    expect((await store.reader.inspect("shop" as Key)).grants).toHaveLength(1);
    expect(await verify(store, "shop")).toMatchObject({ ok: true });
    await pairs(store, "other", 3);
    await store.close();
    await open(place, clock, THREE);
    expect([versionOf(raw), upgradesIn(raw)]).toEqual([3, 4_000]);
  });

  // kills: upgrade-in-parts
  it("is whole after a migration that fails", async () => {
    const place = await storeOfVersionOne();
    const raw = openRaw(place);
    const before = schemaOf(raw);
    const failing = { ...THIRD, sql: "CREATE TABLE more (n INTEGER); DROP TABLE absent;" };
    await expect(open(place, clock, [...TWO, failing])).rejects.toThrow("absent");
    expect([versionOf(raw), schemaOf(raw)]).toEqual([1, before]);
    expect(await pairs(await open(place, clock), "other", 3)).toHaveLength(3);
  });

  it("is taken away whole by a program that knows version 2", async () => {
    const place = await storeOfVersionOne();
    const installation = createSqliteInstallation(place, TWO);
    await expect(installation.uninstall(clock)).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
    expect(versionOf(openRaw(place))).toBe(1);
    openRaw(place).exec("DELETE FROM dal_locks");
    expect(await installation.uninstall(clock)).toBe(true);
    expect(await installation.pending()).toMatchObject([{ version: 1 }, { version: 2 }]);
  });
});

describe("a store of version 2", () => {
  // kills: newer-schema
  it("is refused by a program that knows only version 1, and left alone", async () => {
    const place = await storeOfVersionOne();
    await (await open(place, clock, TWO)).close();
    const before = schemaOf(openRaw(place));
    const refused = { code: "E_FORMAT_UNSUPPORTED" };
    await expect(open(place, clock)).rejects.toMatchObject(refused);
    expect(() => examineSqliteStore(place)).toThrow(expect.objectContaining(refused));
    const installation = createSqliteInstallation(place);
    await expect(installation.pending()).rejects.toMatchObject(refused);
    await expect(installation.uninstall(clock)).rejects.toMatchObject(refused);
    const raw = openRaw(place);
    expect([versionOf(raw), schemaOf(raw), upgradesIn(raw)]).toEqual([2, before, 4_000]);
  });

  it("is refused while a program of version 2 has it open", async () => {
    const place = await storeOfVersionOne();
    await open(place, clock, TWO);
    await expect(open(place, clock)).rejects.toMatchObject({ code: "E_FORMAT_UNSUPPORTED" });
  });
});
