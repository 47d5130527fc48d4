import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Lease, openHoldfast } from "../../../src/index.js";
import { Place } from "./store-folder.fixture.js";

async function withTable(place: Place): Promise<Lease> {
  const lease = await (await place.client()).acquire("project:alpha", { ttl: "1h" });
  await lease.transaction((sql) => sql.rows("CREATE TABLE tiles (id INTEGER PRIMARY KEY, text TEXT UNIQUE)"));
  return lease;
}

const texts = (lease: Lease): Promise<unknown[]> =>
  lease.transaction((sql) => sql.rows("SELECT text FROM tiles ORDER BY id").map((row) => row.text));

describe("FENCE-3: rows of the caller's own, in one transaction with the check", () => {
  it("keeps what the function wrote and passes on what it returns", async () => {
    await using place = new Place();
    const lease = await withTable(place);
    const id = await lease.transaction((sql) => {
      sql.rows("INSERT INTO tiles (text) VALUES (?)", ["one"]);
      return sql.rows("INSERT INTO tiles (text) VALUES (?) RETURNING id", ["two"])[0]?.id;
    });
    expect(id).toBe(2);
    expect(await texts(lease)).toEqual(["one", "two"]);
  });

  it("keeps nothing when the function throws, and passes its error on", async () => {
    await using place = new Place();
    const lease = await withTable(place);
    const failure = new Error("changed my mind");
    await expect(
      lease.transaction((sql) => {
        sql.rows("INSERT INTO tiles (text) VALUES ('one')");
        throw failure;
      }),
    ).rejects.toBe(failure);
    expect(await texts(lease)).toEqual([]);
    expect(lease.state).toBe("held");
  });

  // kills: transaction-over
  it("is no hindrance, once it is over, to what was begun inside it", async () => {
    await using place = new Place();
    const lease = await withTable(place);
    let isOver = (): void => undefined;
    const over = new Promise<void>((resolve) => {
      isOver = resolve;
    });
    const begun: Promise<unknown[]>[] = [];
    await lease.transaction((sql) => {
      sql.rows("INSERT INTO tiles (text) VALUES ('one')");
      begun.push((async () => over.then(() => texts(lease)))());
    });
    isOver();
    expect(await Promise.all(begun)).toEqual([["one"]]);
  });

  // kills: transaction-check
  it("runs nothing for a reader, a permit, or a holder that was overtaken", async () => {
    await using place = new Place();
    const lease = await withTable(place);
    const holdfast = await place.client("user:ann");
    const never = (): void => expect.unreachable("it ran");
    const reader = await holdfast.acquire("other", { mode: "read" });
    await expect(reader.transaction(never)).rejects.toMatchObject({ code: "E_LOCK_NOT_HELD" });
    const permit = await holdfast.acquire("places", { permits: 2 });
    await expect(permit.transaction(never)).rejects.toMatchObject({ code: "E_LOCK_NOT_HELD" });

    await holdfast.break("project:alpha", { reason: "test" });
    const next = await holdfast.acquire("project:alpha");
    await expect(lease.transaction(never)).rejects.toMatchObject({ code: "E_FENCING_MISMATCH" });
    expect(lease.state).toBe("lost");
    expect(await texts(next)).toEqual([]);
  });

  // kills: transaction-statements, transaction-spelling
  it.each([
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT here",
    "PRAGMA journal_mode = DELETE",
    "ATTACH ':memory:' AS aside",
    "DELETE FROM dal_locks",
    "UPDATE trees SET fence = 1",
    "DROP TABLE audit",
    "CREATE INDEX mine ON dal_locks (owner)",
    "CREATE TRIGGER sly BEFORE INSERT ON tickets BEGIN SELECT 1; END",
    "CREATE TEMP TABLE dal_locks (v)",
    "CREATE TEMP TABLE Dal_Locks AS SELECT * FROM main.dal_locks WHERE 0",
    'CREATE TABLE temp."TREES" (v)',
    "CREATE TEMP VIEW Trees AS SELECT 1",
    "CREATE VIRTUAL TABLE temp.Tickets USING fts5(v)",
    "CREATE TEMP TRIGGER sly AFTER INSERT ON main.Trees BEGIN SELECT 1; END",
    "CREATE TABLE JSON_each (v)",
  ])("refuses a statement that leaves the transaction or touches what is not the caller's: %s", async (statement) => {
    await using place = new Place();
    const lease = await withTable(place);
    const trying = lease.transaction((sql) => {
      sql.rows("INSERT INTO tiles (text) VALUES ('one')");
      sql.rows(statement);
    });
    await expect(trying).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT", details: { field: "sql" } });
    expect(await texts(lease)).toEqual([]);
    await lease.verify();
  });

  // kills: transaction-renaming
  it("refuses to give a temporary table the name of one of ours", async () => {
    await using place = new Place();
    const lease = await withTable(place);
    const renaming = lease.transaction((sql) => {
      sql.rows("CREATE TEMP TABLE mine AS SELECT * FROM dal_locks WHERE 0");
      sql.rows("ALTER TABLE mine RENAME TO Dal_Locks");
    });
    await expect(renaming).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT", details: { field: "sql" } });
    await lease.verify();
    await lease.transaction((sql) => {
      sql.rows("CREATE TEMP TABLE mine AS SELECT value FROM json_each('[1, 2]')");
      sql.rows("CREATE TABLE kept AS SELECT * FROM mine");
      sql.rows("ALTER TABLE kept RENAME TO kept_so");
    });
    await lease.verify();
  });

  it("a trigger of the caller's cannot reach what is ours either", async () => {
    await using place = new Place();
    const lease = await withTable(place);
    await lease.transaction((sql) =>
      sql.rows("CREATE TRIGGER sly AFTER INSERT ON tiles BEGIN DELETE FROM dal_locks; END"),
    );
    const writing = lease.transaction((sql) => sql.rows("INSERT INTO tiles (text) VALUES ('one')"));
    await expect(writing).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT" });
    await lease.verify();
  });

  it("a statement that rolls back by itself takes the rest with it", async () => {
    await using place = new Place();
    const lease = await withTable(place);
    await lease.transaction((sql) => sql.rows("INSERT INTO tiles (text) VALUES ('one')"));
    const trying = lease.transaction((sql) => {
      sql.rows("INSERT INTO tiles (text) VALUES ('two')");
      try {
        sql.rows("INSERT OR ROLLBACK INTO tiles (text) VALUES ('one')");
      } catch {
        sql.rows("INSERT INTO tiles (text) VALUES ('alone')");
      }
    });
    await expect(trying).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT" });
    expect(await texts(lease)).toEqual(["one"]);
  });

  it("DAL-2: one that is open too long is rolled back, and one inside another is refused", async () => {
    await using place = new Place();
    const lease = await withTable(place);
    const slow = lease.transaction(
      (sql) => {
        sql.rows("INSERT INTO tiles (text) VALUES ('late')");
        for (const until = performance.now() + 60; performance.now() < until; );
      },
      { maxTransactionMs: 20 },
    );
    await expect(slow).rejects.toMatchObject({ code: "E_LOCK_TIMEOUT" });
    let inner: Promise<unknown> | undefined;
    await lease.transaction(() => {
      inner = lease.transaction((sql) => sql.rows("INSERT INTO tiles (text) VALUES ('inner')"));
      inner.catch(() => undefined);
    });
    await expect(inner).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT" });
    expect(await texts(lease)).toEqual([]);
  });

  it("refuses a function that finishes later, and statements after its end", async () => {
    await using place = new Place();
    const lease = await withTable(place);
    await expect(lease.transaction(async () => undefined)).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT" });
    await expect(lease.transaction((sql) => sql.query("SELECT 1"))).rejects.toMatchObject({ code: "E_CONFIG" });
    const kept = await lease.transaction((sql) => sql);
    expect(() => kept.rows("SELECT 1")).toThrow(expect.objectContaining({ code: "E_INVALID_ARGUMENT" }));
  });

  it("stores that are no database say so", async () => {
    await using place = new Place();
    for (const store of ["memory:no-rows", `file:${join(place.dir, "files")}`]) {
      const lease = await place.keep(await openHoldfast({ store, heart: "loop" })).acquire("k");
      await expect(lease.transaction(() => undefined)).rejects.toMatchObject({ code: "E_CONFIG" });
    }
  });
});
