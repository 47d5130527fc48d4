import { beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { openDal } from "../../../src/features/dal/dal.js";
import { type Key, parseKey } from "../../../src/lock/key.js";
import type { ForeignRows } from "../../../src/store/contract.js";
import { openForeignRows } from "../../../src/store/postgres/dal/foreign-rows.js";
import { client, keep } from "../../fixtures/postgres/clients.fixture.js";
import {
  administer,
  databaseOf,
  inDatabase,
  sharedServer,
  type TestServer,
} from "../../fixtures/postgres/server.fixture.js";
import { newPostgresStore } from "../../fixtures/postgres/stores.fixture.js";

const OUTCOME = { timeout: 60_000, interval: 50 };
const LIMIT_MS = 60_000;
const [alpha, map, sketch, beside] = ["p:a", "p:a/map:m", "p:a/map:m/sketch:s", "p:a/map:n"].map((key) =>
  parseKey(key),
) as [Key, Key, Key, Key];

let server: TestServer;
let made = 0;
beforeAll(async () => {
  server = await sharedServer();
}, 240_000);

/** A database without anything of ours. */
async function newDatabase(): Promise<string> {
  made += 1;
  const url = inDatabase(server.url, `holdfast_dal_${process.pid}_${made}`);
  await administer(server.url, `create database ${databaseOf(url)}`);
  await administer(url, "create table t (v integer)");
  onTestFinished(() => administer(server.url, `drop database ${databaseOf(url)} with (force)`).then(() => undefined));
  return url;
}

const put =
  (value: number) =>
  (sql: { query(statement: string, values?: readonly unknown[]): Promise<unknown> }): Promise<unknown> =>
    sql.query("insert into t values ($1)", [value]);

const values = (rows: ForeignRows): Promise<unknown[]> =>
  rows.read(async (sql) => (await sql.query("select v from t order by v")).map(({ v }) => v), false, LIMIT_MS);

describe("FENCE-3: marks in another PostgreSQL database", { timeout: 240_000 }, () => {
  // kills: postgres-foreign-marks
  it("a higher token on the resource, above or below it decides about a late write; one beside it does not", async () => {
    const rows = keep(await openForeignRows(await newDatabase()));
    for (const [at, [marked, isRefused]] of (
      [
        [map, true],
        [alpha, true],
        [sketch, true],
        [beside, false],
      ] as const
    ).entries()) {
      const token = 100 * (at + 1);
      await rows.write(map, token, put(token), LIMIT_MS);
      await rows.install(marked, token + 1);
      const late = rows.write(map, token, put(token + 1), LIMIT_MS);
      if (isRefused) await expect(late).rejects.toMatchObject({ code: "E_FENCING_MISMATCH" });
      else await late;
    }
    expect(await values(rows)).toEqual([100, 200, 300, 400, 401]);
  });

  // kills: postgres-foreign-wait
  it("a successor's token waits for whoever is in the middle of a write, and so does its first read", async () => {
    const url = await newDatabase();
    const [old, next] = [keep(await openForeignRows(url)), keep(await openForeignRows(url))];
    let open = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    let hasWritten = false;
    const writing = old.write(
      map,
      10,
      async (sql) => {
        await put(1)(sql);
        hasWritten = true;
        await gate;
      },
      LIMIT_MS,
    );
    await vi.waitUntil(() => hasWritten, OUTCOME);
    // Beside it nobody waits.
    await next.install(beside, 11);
    const seen = next.install(alpha, 12).then(() => values(next));
    const waiting =
      "select 1 from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())";
    await vi.waitUntil(async () => (await administer(url, waiting)).length === 1, OUTCOME);
    open();
    await writing;
    expect(await seen).toEqual([1]);
    await expect(old.write(map, 10, put(2), LIMIT_MS)).rejects.toMatchObject({ code: "E_FENCING_MISMATCH" });
  });

  it("a mark that is raised stands beside higher ones below it, lowers none, and stops late writers", async () => {
    const rows = keep(await openForeignRows(await newDatabase()));
    const refused = { code: "E_FENCING_MISMATCH" };
    await rows.install(sketch, 12);
    await rows.raise(map, 11);
    await rows.raise(map, 10);
    await rows.write(sketch, 12, put(1), LIMIT_MS);
    await expect(rows.write(sketch, 11, put(2), LIMIT_MS)).rejects.toMatchObject(refused);
    await expect(rows.write(alpha, 10, put(2), LIMIT_MS)).rejects.toMatchObject(refused);
    await rows.raise(map, 13);
    await rows.raise(sketch, 11);
    await expect(rows.write(sketch, 12, put(2), LIMIT_MS)).rejects.toMatchObject(refused);
    await rows.write(sketch, 13, put(3), LIMIT_MS);
    expect(await values(rows)).toEqual([1, 3]);
  });

  it("the caller's statements cannot move the marks, leave the transaction or stay in it for too long", async () => {
    const rows = keep(await openForeignRows(await newDatabase()));
    const refused = { code: "E_INVALID_ARGUMENT" };
    for (const statement of ["delete from holdfast_dal.fences", "commit", "insert into t values (1); commit"])
      await expect(
        rows.write(alpha, 10, (sql) => sql.query(statement), LIMIT_MS),
        statement,
      ).rejects.toThrow();
    await expect(
      rows.write(alpha, 10, (sql) => sql.query("delete from holdfast_dal.fences"), LIMIT_MS),
    ).rejects.toMatchObject(refused);
    const slow = rows.write(
      alpha,
      10,
      async (sql) => {
        await put(1)(sql);
        await new Promise(() => undefined);
      },
      300,
    );
    await expect(slow).rejects.toMatchObject({ code: expect.stringMatching(/E_LOCK_TIMEOUT|E_STORE_UNAVAILABLE/) });
    await expect(rows.read(put(1), false, LIMIT_MS)).rejects.toMatchObject(refused);
    await expect(rows.read(put(1), true, LIMIT_MS)).rejects.toMatchObject(refused);
    expect(await values(rows)).toEqual([]);
  });

  it("many that open it at once make its table once; without the right to, the error says so", async () => {
    const url = await newDatabase();
    for (const rows of await Promise.all([1, 2, 3, 4].map(() => openForeignRows(url)))) keep(rows);
    const role = `holdfast_dal_${process.pid}`;
    const closed = await newDatabase();
    await administer(closed, `create role ${role} login`);
    onTestFinished(() => administer(server.url, `drop role ${role}`).then(() => undefined));
    const stranger = closed.replace(/\/\/[^/@]*@/, `//${role}@`);
    await expect(openForeignRows(stranger)).rejects.toMatchObject({ code: "E_FORBIDDEN" });
  });
});

describe("DAL-1: a data access layer on another PostgreSQL database than the store's", { timeout: 240_000 }, () => {
  it.each(["memory", "postgres"])(
    "needs a lease that covers the resource, and marks it before the first read (store: %s)",
    async (kind) => {
      const store = kind === "memory" ? `memory:dal-${process.pid}` : await newPostgresStore(server);
      const [holdfast, admin] = [await client(store), await client(store, { owner: "admin:ann" })];
      const database = await newDatabase();
      const dal = keep(await openDal({ holdfast, database }));
      const lease = await holdfast.acquire("p:a", { ttl: "1h" });
      expect(await dal.query(lease, "p:a/map:m", "select v from t where v > $1", [0])).toEqual([]);
      const rows = keep(await openForeignRows(database));
      await expect(rows.write(map, lease.fencingToken - 1, put(0), LIMIT_MS)).rejects.toMatchObject({
        code: "E_FENCING_MISMATCH",
      });
      await dal.write(lease, "p:a/map:m", async (sql) => {
        for (const value of [1, 2, 3]) await put(value)(sql);
      });
      const never = (): never => expect.unreachable("it ran");
      await expect(dal.write(lease, "p:b", never)).rejects.toMatchObject({ code: "E_LOCK_NOT_HELD" });
      const seen: unknown[] = [];
      for await (const page of dal.pages(lease, "p:a", "select v from t where v > $1", [1], { by: "v", size: 1 }))
        seen.push(...page.map(({ v }) => v));
      expect(seen).toEqual([2, 3]);

      await admin.break("p:a", { reason: "test" });
      const next = await admin.acquire("p:a");
      const nextDal = keep(await openDal({ holdfast: admin, database }));
      expect(await nextDal.query(next, "p:a", "select v from t")).toHaveLength(3);
      await expect(dal.write(lease, "p:a", never)).rejects.toMatchObject({
        code: expect.stringMatching(/E_LOCK_NOT_HELD|E_FENCING_MISMATCH/),
      });
      // One that was checked before it was overtaken comes too late as well.
      await expect(rows.write(alpha, lease.fencingToken, put(9), LIMIT_MS)).rejects.toMatchObject({
        code: "E_FENCING_MISMATCH",
      });
    },
  );
});
