import {
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tryLockExclusive, tryLockShared } from "../../../../src/platform/kernel-lock.js";
import { openSqliteStore } from "../../../../src/store/sqlite/open.js";
import { acquire, clockOf, newPlace, open, openRaw, pairs } from "../../../fixtures/sqlite/database.fixture.js";

const clock = clockOf("this boot");

function fileBehind(fd: string): string | null {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return null; // The one that listed the folder.
  }
}

describe("opening a database", () => {
  it("STORE-3: has the table dal_locks with one row per grant, in its fixed columns", async () => {
    const place = newPlace();
    const store = await open(place);
    await pairs(store, "free", 3);
    await acquire(store, "held", { metadata: { task: "t1" } });
    const raw = openRaw(place);
    const rows = raw.prepare("SELECT lock_id, owner, lease_expires, heartbeat_ts, metadata FROM dal_locks").all();
    expect(rows).toEqual([
      {
        lock_id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
        owner: "agent:a",
        lease_expires: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        heartbeat_ts: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        metadata: '{"task":"t1"}',
      },
    ]);
    const columns = raw.prepare("SELECT name, type, pk FROM pragma_table_info('dal_locks') WHERE pk > 0").all();
    expect(columns).toEqual([{ name: "lock_id", type: "TEXT", pk: 1 }]);
    expect(raw.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
  });

  it("STORE-5: refuses a newer schema and leaves it alone", async () => {
    const place = newPlace();
    await (await open(place)).close();
    openRaw(place).exec("PRAGMA user_version = 99");
    await expect(open(place)).rejects.toMatchObject({ code: "E_FORMAT_UNSUPPORTED" });
    expect(openRaw(place).prepare("PRAGMA user_version").get()).toEqual({ user_version: 99 });
  });

  it("STALE-1: refuses settings that are not those on record", async () => {
    const place = newPlace();
    const first = await openSqliteStore(place, { levels: ["project", "map"] }, clock);
    await expect(openSqliteStore(place, { levels: ["map", "project"] }, clock)).rejects.toMatchObject({
      code: "E_CONFIG",
    });
    await expect(openSqliteStore(place, { profiles: { "x:": "strict" } }, clock)).rejects.toMatchObject({
      code: "E_CONFIG",
    });
    const second = await openSqliteStore(place, {}, clock);
    expect(second.settings).toEqual(first.settings);
    await first.close();
    await second.close();
  });

  // kills: open-in-turn
  it("is not kept waiting by somebody who stands still inside the turnstile, where there is nothing to set up", async () => {
    const place = newPlace();
    const first = await open(place);
    const stopped = openSync(`${place}-turn`, "r+");
    expect(tryLockExclusive(stopped)).toBe(true);
    const second = await open(place);
    expect(await pairs(second, "free", 3)).toHaveLength(3);
    expect(second.settings).toEqual(first.settings);
    closeSync(stopped);
  });

  // kills: database-closed
  it("STORE-6: says that it was closed to whoever asks afterwards", async () => {
    const store = await open(newPlace());
    const grants = await acquire(store, "k");
    await store.close();
    await expect(acquire(store, "m")).rejects.toMatchObject({ code: "E_STORE_UNAVAILABLE" });
    const late = store.fence.commit(grants, () => expect.unreachable("it wrote"));
    await expect(late).rejects.toMatchObject({ code: "E_STORE_UNAVAILABLE" });
  });

  // kills: turnstile-closed
  it("leaves alone what was opened under its numbers since it was closed, whatever still waits for its turn", async () => {
    const place = newPlace();
    const store = await open(place);
    const inside = openSync(`${place}-turn`, "r+");
    expect(tryLockExclusive(inside)).toBe(true);
    const writer = openRaw(place);
    writer.exec("BEGIN IMMEDIATE");
    const late = acquire(store, "k").catch((error: unknown) => error);
    await store.close();
    const paths = Array.from({ length: 20 }, (_, at) => `${place}.other-${at}`);
    const files = paths.map((path) => openSync(path, "wx+"));
    for (const file of files) expect(tryLockExclusive(file)).toBe(true);
    closeSync(inside);
    const outcome = await late;
    for (const path of paths) {
      expect(statSync(path).size).toBe(0);
      const looking = openSync(path, "r");
      expect(tryLockShared(looking)).toBe(false);
      closeSync(looking);
    }
    expect(outcome).toMatchObject({ code: "E_STORE_UNAVAILABLE" });
    for (const file of files) closeSync(file);
    writer.close();
  });

  it("keeps nothing open where it is refused", async () => {
    const place = newPlace();
    const first = await openSqliteStore(place, { levels: ["project"] }, clock);
    for (let time = 0; time < 5; time += 1)
      await expect(openSqliteStore(place, { levels: ["map"] }, clock)).rejects.toMatchObject({ code: "E_CONFIG" });
    const open = readdirSync("/proc/self/fd").filter((fd) => fileBehind(fd) === `${realpathSync(place)}-turn`);
    expect(open).toHaveLength(1);
    await first.close();
  });

  it("tells a file that is no database for what it is, and does not change it", async () => {
    const place = newPlace();
    writeFileSync(
      place,
      "this is no database, only a text that somebody has put here, and it is long enough".repeat(50),
    );
    await expect(open(place)).rejects.toMatchObject({ code: "E_STORE_CORRUPT" });
  });

  it("can be opened by many at once, and is set up once", async () => {
    const folder = mkdtempSync(join(tmpdir(), "holdfast-sqlite-"));
    const place = join(folder, "not", "there", "yet", "locks.db");
    const stores = await Promise.all(Array.from({ length: 12 }, () => openSqliteStore(place, {}, clock)));
    const tokens = await Promise.all(stores.map((store, at) => pairs(store, `tree-${at}`, 20)));
    expect(tokens.flat()).toHaveLength(240);
    for (const store of stores) await store.close();
    expect(statSync(`${place}-wal`, { throwIfNoEntry: false })?.size ?? 0).toBe(0);
    rmSync(folder, { recursive: true });
  });

  it("says what is missing when the path is", async () => {
    await expect(openSqliteStore("", {}, clock)).rejects.toMatchObject({ code: "E_CONFIG" });
  });
});
