import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Dal, openDal } from "../../../src/features/dal/dal.js";
import type { Holdfast } from "../../../src/index.js";
import { type Key, parseKey } from "../../../src/lock/key.js";
import { Database } from "../../../src/store/sqlite/connection/database.js";
import { openForeignRows } from "../../../src/store/sqlite/dal/foreign-rows.js";
import { Place } from "./store-folder.fixture.js";

const WHERE = ["the store's own database", "another file"] as const;

async function open(place: Place, where: (typeof WHERE)[number], holdfast: Holdfast): Promise<Dal> {
  const database = where === "another file" ? { database: `sqlite:${join(place.dir, "app.db")}` } : {};
  return place.keep(await openDal({ holdfast, ...database }));
}

describe.each(WHERE)("a data access layer on %s", (where) => {
  it("DAL-1: a write needs a write lease that covers the resource, a read any that covers it", async () => {
    await using place = new Place();
    const holdfast = await place.client();
    const dal = await open(place, where, holdfast);
    const writer = await holdfast.acquire("project:alpha");
    await dal.write(writer, "project:alpha/map:m1", (sql) => {
      sql.rows("CREATE TABLE tiles (id INTEGER PRIMARY KEY, text TEXT)");
      sql.rows("INSERT INTO tiles (text) VALUES ('one')");
    });
    const never = (): void => expect.unreachable("a statement ran");
    const refused = { code: "E_LOCK_NOT_HELD" };
    await expect(dal.write(writer, "project:beta", never)).rejects.toMatchObject(refused);
    await expect(dal.read(writer, "project:beta", never)).rejects.toMatchObject(refused);
    await writer.downgrade();
    await expect(dal.write(writer, "project:alpha", never)).rejects.toMatchObject(refused);
    expect(await dal.query(writer, "project:alpha", "SELECT text FROM tiles")).toEqual([{ text: "one" }]);
    await writer.release();
    await expect(dal.read(writer, "project:alpha", never)).rejects.toMatchObject(refused);
  });

  it("DAL-1: a holder that was overtaken neither reads nor writes", async () => {
    await using place = new Place();
    const [holdfast, admin] = [await place.client(), await place.client("admin:ann")];
    const dal = await open(place, where, holdfast);
    const old = await holdfast.acquire("project:alpha", { ttl: "1h" });
    await admin.break("project:alpha", { reason: "test" });
    await expect(dal.write(old, "project:alpha", () => expect.unreachable())).rejects.toMatchObject({
      code: "E_LOCK_NOT_HELD",
    });
    await expect(dal.read(old, "project:alpha", () => expect.unreachable())).rejects.toMatchObject({
      code: "E_LOCK_NOT_HELD",
    });
  });

  it("DAL-2: reading changes nothing, sees one moment when asked to, and does not nest", async () => {
    await using place = new Place();
    const holdfast = await place.client();
    const dal = await open(place, where, holdfast);
    const lease = await holdfast.acquire("project:alpha");
    await dal.write(lease, "project:alpha", (sql) => sql.rows("CREATE TABLE n (n INTEGER)"));
    const writing = dal.read(lease, "project:alpha", (sql) => sql.rows("INSERT INTO n VALUES (1)"));
    await expect(writing).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT" });
    const count = (sql: { rows(statement: string): unknown }): unknown => sql.rows("SELECT count(*) AS n FROM n");
    expect(await dal.read(lease, "project:alpha", count)).toEqual([{ n: 0 }]);
    expect(await dal.read(lease, "project:alpha", count, { snapshot: true })).toEqual([{ n: 0 }]);
    let inner: Promise<unknown> | undefined;
    await dal.write(lease, "project:alpha", () => {
      inner = dal.write(lease, "project:alpha", () => undefined);
      inner.catch(() => undefined);
    });
    await expect(inner).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT" });
  });

  it("DAL-3: more than 50,000 rows need a page; pages give every row once", async () => {
    await using place = new Place();
    const holdfast = await place.client();
    const dal = await open(place, where, holdfast);
    const lease = await holdfast.acquire("project:alpha");
    await dal.write(lease, "project:alpha", (sql) => {
      sql.rows("CREATE TABLE n (n INTEGER PRIMARY KEY)");
      sql.rows(
        "INSERT INTO n WITH RECURSIVE up(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM up WHERE n < 50001) SELECT n FROM up",
      );
    });
    const all = dal.query(lease, "project:alpha", "SELECT n FROM n;");
    await expect(all).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT" });
    expect(await dal.query(lease, "project:alpha", "SELECT n FROM n WHERE n > ?", [1])).toHaveLength(50_000);
    const page = await dal.query(lease, "project:alpha", "SELECT n FROM n ORDER BY n", [], {
      limit: 2,
      offset: 50_000,
    });
    expect(page).toEqual([{ n: 50_001 }]);
    let [rows, pages] = [0, 0];
    for await (const each of dal.pages(lease, "project:alpha", "SELECT n FROM n WHERE n > ?", [1], {
      by: "n",
      size: 20_000,
    })) {
      for (const { n } of each) {
        rows += 1;
        expect(n).toBe(rows + 1);
      }
      pages += 1;
    }
    expect([rows, pages]).toEqual([50_000, 3]);
  });

  it("DAL-1: closed, it refuses what it is asked, and closing it again does nothing", async () => {
    await using place = new Place();
    const holdfast = await place.client();
    const lease = await holdfast.acquire("p:a");
    const dal = await open(place, where, holdfast);
    {
      using closing = dal;
      closing.close();
    }
    const never = (): never => expect.unreachable("it ran");
    const refused = { code: "E_INVALID_ARGUMENT", details: { field: "dal" } };
    await expect(dal.write(lease, "p:a", never)).rejects.toMatchObject(refused);
    await expect(dal.read(lease, "p:a", never)).rejects.toMatchObject(refused);
    await expect(dal.read(lease, "p:a", never, { snapshot: true })).rejects.toMatchObject(refused);
    await expect(dal.query(lease, "p:a", "SELECT 1")).rejects.toMatchObject(refused);
    await expect(dal.pages(lease, "p:a", "SELECT 1 AS n", [], { by: "n" }).next()).rejects.toMatchObject(refused);
    await lease.verify();
  });

  it("DAL-1: closed while a lease is checked, it reads and writes nothing", async () => {
    await using place = new Place();
    const holdfast = await place.client();
    const lease = await holdfast.acquire("p:a");
    const dal = await open(place, where, holdfast);
    const never = (): never => expect.unreachable("it ran");
    const asked = [dal.write(lease, "p:a", never), dal.read(lease, "p:a", never)];
    dal.close();
    const refused = { code: "E_INVALID_ARGUMENT", details: { field: "dal" } };
    for (const answer of await Promise.allSettled(asked)) expect(answer).toMatchObject({ reason: refused });
  });
});

describe("DAL-1: what makes no sense is refused before anything is looked at", () => {
  const nonsense = (given: unknown): never => given as never;

  it.each([
    ["options", undefined],
    ["options", null],
    ["holdfast", {}],
    ["holdfast", { holdfast: 5 }],
  ])("opened without %s", async (field, options) => {
    const opening = openDal(nonsense(options));
    await expect(opening).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT", details: { field } });
  });

  it.each([5, null, {}])("opened on %j", async (database) => {
    await using place = new Place();
    const opening = openDal({ holdfast: await place.client(), database: nonsense(database) });
    await expect(opening).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT", details: { field: "database" } });
  });

  it("asked without a lease, a function, a statement, values or pages", async () => {
    await using place = new Place();
    const holdfast = await place.client();
    const dal = place.keep(await openDal({ holdfast }));
    const lease = await holdfast.acquire("p:a");
    const none = nonsense(null);
    const asked: [string, Promise<unknown>][] = [
      ["lease", dal.write(none, "p:a", () => undefined)],
      ["lease", dal.read(nonsense({}), "p:a", () => undefined)],
      ["lease", dal.pages(none, "p:a", "SELECT 1 AS n", [], { by: "n" }).next()],
      ["body", dal.write(lease, "p:a", none)],
      ["body", dal.read(lease, "p:a", none)],
      ["options", dal.read(lease, "p:a", () => undefined, none)],
      ["statement", dal.query(lease, "p:a", none)],
      ["statement", dal.query(lease, "p:a", nonsense(5), [], { limit: 1 })],
      ["values", dal.query(lease, "p:a", "SELECT ?", none)],
      ["values", dal.query(lease, "p:a", "SELECT ?", nonsense("5"))],
      ["page", dal.query(lease, "p:a", "SELECT 1", [], none)],
      ["paging", dal.pages(lease, "p:a", "SELECT 1", [], nonsense(undefined)).next()],
      ["paging", dal.pages(lease, "p:a", "SELECT 1", [], none).next()],
      ["by", dal.pages(lease, "p:a", "SELECT 1", [], nonsense({})).next()],
    ];
    for (const [field, answer] of asked)
      await expect(answer, field).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT", details: { field } });
  });
});

// kills: foreign-marks
describe("FENCE-3: marks in another database", () => {
  const [alpha, map, sketch, beside] = ["p:a", "p:a/map:m", "p:a/map:m/sketch:s", "p:a/map:n"].map((key) =>
    parseKey(key),
  ) as [Key, Key, Key, Key];

  it.each([
    ["on the resource itself", map, true],
    ["above it", alpha, true],
    ["below it", sketch, true],
    ["beside it", beside, false],
  ])("a higher token %s decides about a late write", async (_, marked, isRefused) => {
    await using place = new Place();
    const rows = place.keep(openForeignRows(join(place.dir, "app.db")));
    await rows.write(map, 10, (sql) => sql.rows("CREATE TABLE t (v)"), 5_000);
    await rows.install(marked, 11);
    const late = rows.write(map, 10, (sql) => sql.rows("INSERT INTO t VALUES (1)"), 5_000);
    if (isRefused) await expect(late).rejects.toMatchObject({ code: "E_FENCING_MISMATCH" });
    else await late;
    const kept = await rows.read((sql) => sql.rows("SELECT v FROM t"), false, 5_000);
    expect(kept).toHaveLength(isRefused ? 0 : 1);
    await rows.write(map, 12, (sql) => sql.rows("INSERT INTO t VALUES (2)"), 5_000);
  });

  it("a holder's token is there before its first read", async () => {
    await using place = new Place();
    const holdfast = await place.client();
    const url = join(place.dir, "app.db");
    const dal = place.keep(await openDal({ holdfast, database: `sqlite:${url}` }));
    const lease = await holdfast.acquire("p:a");
    await dal.read(lease, "p:a", () => undefined);
    const late = place
      .keep(openForeignRows(url))
      .write(parseKey("p:a/map:m"), lease.fencingToken - 1, () => undefined, 5_000);
    await expect(late).rejects.toMatchObject({ code: "E_FENCING_MISMATCH" });
  });

  // kills: foreign-upgradeable
  it("what an upgradeable holder has read, no late writer changes any more", async () => {
    await using place = new Place();
    const [holdfast, admin] = [await place.client(), await place.client("admin:ann")];
    const path = join(place.dir, "app.db");
    const dal = place.keep(await openDal({ holdfast, database: `sqlite:${path}` }));
    const late = await holdfast.acquire("p:a/map:m");
    await dal.write(late, "p:a/map:m", (sql) => {
      sql.rows("CREATE TABLE n (n INTEGER)");
      sql.rows("INSERT INTO n VALUES (100)");
    });
    await admin.break("p:a/map:m", { reason: "it was stopped between its check and its transaction" });
    const next = await admin.acquire("p:a", { mode: "upgradeable" });
    expect(await dal.query(next, "p:a", "SELECT n FROM n")).toEqual([{ n: 100 }]);
    const rows = place.keep(openForeignRows(path));
    const add = rows.write(map, late.fencingToken, (sql) => sql.rows("UPDATE n SET n = n + 1"), 5_000);
    await expect(add).rejects.toMatchObject({ code: "E_FENCING_MISMATCH" });
    await next.upgrade();
    await dal.write(next, "p:a", (sql) => sql.rows("UPDATE n SET n = 110"));
    expect(await dal.query(next, "p:a", "SELECT n FROM n")).toEqual([{ n: 110 }]);
  });

  it("an upgradeable holder that reads does not hinder its own writers below, older or newer than it", async () => {
    await using place = new Place();
    const holdfast = await place.client();
    const path = join(place.dir, "app.db");
    const dal = place.keep(await openDal({ holdfast, database: `sqlite:${path}` }));
    const never = (): never => expect.unreachable("it wrote");
    const nothing = (): void => undefined;
    const older = await holdfast.acquire("p:a/map:m");
    const above = await older.acquire("p:a", { mode: "upgradeable" });
    const newer = await above.acquire("p:a/map:n");
    await dal.write(newer, "p:a/map:n", nothing);
    await dal.read(above, "p:a", nothing);
    await dal.write(older, "p:a/map:m", nothing);
    await dal.write(newer, "p:a/map:n", nothing);
    const late = place.keep(openForeignRows(path)).write(alpha, older.fencingToken - 1, never, 5_000);
    await expect(late).rejects.toMatchObject({ code: "E_FENCING_MISMATCH" });
  });

  it("who only reads leaves no mark, and can be followed by a late writer", async () => {
    await using place = new Place();
    const holdfast = await place.client();
    const path = join(place.dir, "app.db");
    const dal = place.keep(await openDal({ holdfast, database: `sqlite:${path}` }));
    const reader = await holdfast.acquire("p:a", { mode: "read" });
    await dal.read(reader, "p:a", () => undefined);
    await place.keep(openForeignRows(path)).write(alpha, reader.fencingToken - 1, () => undefined, 5_000);
    await reader.release();
    await dal.read(await holdfast.acquire("p:a"), "p:a", () => undefined);
  });

  it("whoever waits for another program's transaction is told when the file is closed", async () => {
    await using place = new Place();
    const path = join(place.dir, "app.db");
    const rows = openForeignRows(path);
    const other = place.keep(new Database(path));
    expect(other.tryBegin()).toBe(true);
    const waiting = rows.install(alpha, 10);
    rows.close();
    await expect(waiting).rejects.toMatchObject({ code: "E_STORE_UNAVAILABLE", message: `${path} was closed` });
    other.rollBack();
  });

  it("a mark that is raised stands beside higher ones below it, and lowers none", async () => {
    await using place = new Place();
    const rows = place.keep(openForeignRows(join(place.dir, "app.db")));
    const write = (resource: Key, token: number): Promise<void> => rows.write(resource, token, () => undefined, 5_000);
    await rows.install(sketch, 12);
    await rows.raise(map, 11);
    await rows.raise(map, 10);
    await write(sketch, 12);
    await expect(write(sketch, 11)).rejects.toMatchObject({ code: "E_FENCING_MISMATCH" });
    await rows.raise(map, 13);
    await rows.raise(sketch, 11);
    await expect(write(sketch, 12)).rejects.toMatchObject({ code: "E_FENCING_MISMATCH" });
    await write(sketch, 13);
  });

  it.each([
    "DELETE FROM holdfast_fences",
    "DROP TABLE Holdfast_Fences",
    "CREATE TEMP TABLE Holdfast_Fences (resource, fencing_token)",
    "CREATE TEMP VIEW HOLDFAST_fences AS SELECT 'p:a' AS resource, 0 AS fencing_token",
  ])("the caller's statements cannot move the marks or hide them: %s", async (statement) => {
    await using place = new Place();
    const rows = place.keep(openForeignRows(join(place.dir, "app.db")));
    const sly = rows.write(alpha, 10, (sql) => sql.rows(statement), 5_000);
    await expect(sly).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT" });
    await rows.install(alpha, 11);
    const late = rows.write(alpha, 10, () => undefined, 5_000);
    await expect(late).rejects.toMatchObject({ code: "E_FENCING_MISMATCH" });
  });

  it("other names are the caller's, unless a store is in that file", async () => {
    await using place = new Place();
    const path = join(place.dir, "app.db");
    const rows = place.keep(openForeignRows(path));
    await rows.write(alpha, 10, (sql) => sql.rows("CREATE TABLE jobs (v)"), 5_000);
    const store = join(place.dir, "store.db");
    const beside = place.keep(openForeignRows(store));
    await place.client();
    const sly = beside.write(alpha, 10, (sql) => sql.rows("DELETE FROM jobs"), 5_000);
    await expect(sly).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT" });
  });
});
