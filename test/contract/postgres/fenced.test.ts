import pg from "pg";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { openDal } from "../../../src/features/dal/dal.js";
import type { Lease } from "../../../src/index.js";
import { client, keep } from "../../fixtures/postgres/clients.fixture.js";
import { administer, sharedServer, type TestServer } from "../../fixtures/postgres/server.fixture.js";
import { newPostgresStore } from "../../fixtures/postgres/stores.fixture.js";

const OUTCOME = { timeout: 60_000, interval: 50 };

let server: TestServer;
let url: string;

beforeAll(async () => {
  server = await sharedServer();
}, 240_000);

/** A lease on project:alpha, and a table. */
async function scene(ttl = "1h", detached = false): Promise<Lease> {
  url = await newPostgresStore(server);
  await administer(url, "create table public.tiles (id serial primary key, text text unique)");
  return (await client(url, { profiles: {} })).acquire("project:alpha", { ttl, detached });
}

async function texts(): Promise<unknown[]> {
  return (await administer(url, "select text from public.tiles order by id")).map((row) => row.text);
}

const code = (error: unknown): string => (error as { code?: string }).code ?? String(error);
const codeOf = (work: Promise<unknown>): Promise<string> => work.then(() => "done", code);

/** A connection of its own on which a program in another language might work. */
async function session(): Promise<pg.Client> {
  const other = new pg.Client({ connectionString: url });
  other.on("error", () => undefined);
  await other.connect();
  keep({ close: () => other.end() });
  return other;
}

const assertion = (lease: Lease, maxMs = 5_000): string =>
  `select holdfast.assert_fence('{project:alpha}', '{${lease.token}}', max_ms => ${maxMs})`;

describe("FENCE-3: rows of the caller's own, in one transaction with the check", () => {
  it("keeps what the function wrote, and nothing when it throws", async () => {
    const lease = await scene();
    const id = await lease.transaction(async (sql) => {
      await sql.query("insert into tiles (text) values ($1)", ["one"]);
      return (await sql.query("insert into tiles (text) values ($1) returning id", ["two"]))[0]?.id;
    });
    expect(id).toBe(2);
    const failure = new Error("changed my mind");
    await expect(
      lease.transaction(async (sql) => {
        await sql.query("insert into tiles (text) values ('three')");
        throw failure;
      }),
    ).rejects.toBe(failure);
    await expect(
      lease.transaction((sql) => sql.query("insert into tiles (text) values ('one')")),
    ).rejects.toMatchObject({ code: "23505" });
    expect(await texts()).toEqual(["one", "two"]);
    expect(lease.state).toBe("held");
  });

  it("runs nothing for a reader, or for a holder that was overtaken", async () => {
    const lease = await scene();
    const user = await client(url, { owner: "user:ann" });
    const never = (): never => expect.unreachable("it ran");
    const reader = await user.acquire("other", { mode: "read" });
    expect(await codeOf(reader.transaction(never))).toBe("E_LOCK_NOT_HELD");
    await user.break("project:alpha", { reason: "test" });
    await user.acquire("project:alpha");
    expect(await codeOf(lease.transaction(never))).toBe("E_FENCING_MISMATCH");
    expect(lease.state).toBe("lost");
  });

  it.each([
    "COMMIT",
    " rollback",
    "-- x\n end",
    "/* x */ begin",
    "savepoint a",
    "set local role x",
    "select 1; commit",
  ])("lets no statement leave it: %s", async (statement) => {
    const lease = await scene();
    const outcome = lease.transaction(async (sql) => {
      await sql.query("insert into tiles (text) values ('one')");
      await sql.query(statement);
    });
    await expect(outcome).rejects.toThrow();
    expect(await texts()).toEqual([]);
  });

  it("waits for an answer as long as the URL says", async () => {
    const lease = await scene();
    expect(url).toContain("query_timeout=60000");
    const rows = await lease.transaction((sql) => sql.query("select pg_sleep(6.5), 1 as n"), {
      maxTransactionMs: "1m",
    });
    expect(rows).toMatchObject([{ n: 1 }]);
  });

  it("is rolled back when it is open for longer than its limit", async () => {
    const lease = await scene();
    const outcome = lease.transaction(
      async (sql) => {
        await sql.query("insert into tiles (text) values ('one')");
        await new Promise(() => undefined);
      },
      { maxTransactionMs: 300 },
    );
    expect(await codeOf(outcome)).toBe("E_LOCK_TIMEOUT");
    await vi.waitUntil(
      async () =>
        (await administer(url, "select 1 from pg_locks where relation = 'public.tiles'::regclass")).length === 0,
      OUTCOME,
    );
    expect(await texts()).toEqual([]);
  });

  // kills: postgres-in-flight
  it("a steal never passes an in-flight fenced transaction, though the lease ran out meanwhile", async () => {
    const lease = await scene("1h", true);
    const b = await client(url, { owner: "agent:b" });
    const writer = await session();
    await writer.query("begin");
    await writer.query(assertion(lease, 600_000));
    await writer.query("insert into tiles (text) values ('mine')");
    await lease.renew("1s");
    await vi.waitUntil(async () => (await b.inspect("project:alpha")).state === "expired", OUTCOME);
    expect(await codeOf(b.acquire("project:alpha", { wait: 0 }))).toBe("E_LOCK_CONFLICT");
    expect(await codeOf(b.steal("project:alpha"))).toBe("E_LOCK_CONFLICT");
    expect(await b.recover("project:alpha")).toEqual([]);
    const waiting = b.acquire("project:alpha", { wait: "1m" });
    await writer.query("commit");
    const next = await waiting;
    expect(await texts()).toEqual(["mine"]);
    expect(next.fencingToken).toBeGreaterThan(lease.fencingToken);
  });

  it("a holder that stopped before its COMMIT and was overtaken cannot commit", async () => {
    const lease = await scene("1h", true);
    const b = await client(url, { owner: "agent:b" });
    const writer = await session();
    // In one message, so that nothing is late in between.
    await writer.query(`begin; ${assertion(lease, 1_000)}; insert into tiles (text) values ('late')`);
    await lease.renew("1s");
    const next = await b.acquire("project:alpha", { wait: "1m" });
    await next.transaction((sql) => sql.query("insert into tiles (text) values ('new')"));
    await expect(writer.query("commit")).rejects.toThrow();
    expect(await texts()).toEqual(["new"]);
  });
});

// kills: postgres-guarded-table
describe("FENCE-4: guarded tables", () => {
  it("refuse a write from any client without a current write token", async () => {
    const lease = await scene();
    const writer = await session();
    await writer.query("insert into tiles (text) values ('before')");
    await writer.query("select holdfast.fence_table('public.tiles', 'project:alpha/map:m1')");
    const write = "insert into tiles (text) values ('written')";
    for (const statement of [write, "update tiles set text = 'x'", "delete from tiles", "truncate tiles"])
      await expect(writer.query(statement), statement).rejects.toMatchObject({ code: "HF003" });
    for (const none of ["'{}'", "null"])
      await expect(writer.query(`select holdfast.assert_fence(${none}, '{x}')`)).rejects.toMatchObject({
        code: "HF007",
      });
    await writer.query("begin");
    await writer.query(assertion(lease));
    await writer.query(write);
    await writer.query("commit");
    await expect(writer.query(write), "the next transaction shows nothing").rejects.toMatchObject({ code: "HF003" });
    await lease.transaction((sql) => sql.query("update tiles set text = 'more' where text = 'written'"));

    const other = await (await client(url)).acquire("project:beta");
    await expect(other.transaction((sql) => sql.query(write))).rejects.toMatchObject({ code: "E_LOCK_NOT_HELD" });
    expect(await texts()).toEqual(["before", "more"]);
    await writer.query("select holdfast.unfence_table('public.tiles')");
    await writer.query(write);
  });

  // kills: postgres-guarded-parts
  it("are guarded with their partitions and the tables that inherit from them", async () => {
    const lease = await scene();
    const writer = await session();
    for (const statement of [
      "create table public.days (day int) partition by range (day)",
      "create table public.early partition of public.days for values from (0) to (10) partition by range (day)",
      "create table public.first partition of public.early for values from (0) to (5)",
      "create table public.later () inherits (public.tiles)",
      "select holdfast.fence_table('public.days', 'project:alpha'), holdfast.fence_table('public.tiles', 'project:alpha')",
    ])
      await writer.query(statement);
    const writes = ["days", "early", "first"].map((table) => `insert into ${table} values (1)`);
    writes.push("insert into later (id) values (1)");
    for (const write of writes) await expect(writer.query(write), write).rejects.toMatchObject({ code: "HF003" });
    await lease.transaction(async (sql) => {
      for (const write of writes) await sql.query(write);
    });
    await writer.query("select holdfast.unfence_table('public.days'), holdfast.unfence_table('public.tiles')");
    for (const write of writes) await writer.query(write);
  });

  it("believe no token that is forged, lowered, ended or seen by an old snapshot", async () => {
    const lease = await scene();
    const user = await client(url, { owner: "user:ann" });
    const writer = await session();
    await writer.query("select holdfast.fence_table('public.tiles', 'project:alpha')");
    const write = "insert into tiles (text) values ('written')";
    const forged = `select set_config('holdfast.asserted', '{"keys":["project:alpha"],"seals":["${lease.fencingToken}"]}', true)`;
    await writer.query("begin");
    await writer.query(forged);
    await expect(writer.query(write)).rejects.toMatchObject({ code: "HF003" });
    await writer.query("rollback");

    await writer.query("begin isolation level repeatable read");
    await writer.query("select 1 from tiles");
    await user.break("project:alpha", { reason: "test" });
    await expect(writer.query(assertion(lease))).rejects.toThrow();
    await writer.query("rollback");
    await expect(writer.query(assertion(lease))).rejects.toMatchObject({ code: "HF003" });

    const reader = await user.acquire("project:alpha");
    await reader.downgrade();
    await expect(writer.query(assertion(reader))).rejects.toMatchObject({ code: "HF003" });
    expect(await texts()).toEqual([]);
  });
});

describe("DAL-1: a data access layer on PostgreSQL", () => {
  it("needs a lease that covers the resource, and writes under the fence", async () => {
    const lease = await scene();
    const holdfast = await client(url);
    const dal = await openDal({ holdfast });
    await dal.write(lease, "project:alpha/map:m", (sql) => sql.query("insert into tiles (text) values ('a'), ('b')"));
    expect(await codeOf(dal.write(lease, "project:beta", () => expect.unreachable("it ran")))).toBe("E_LOCK_NOT_HELD");
    expect(await dal.query(lease, "project:alpha", "select text from tiles order by id")).toEqual([
      { text: "a" },
      { text: "b" },
    ]);
    const seen: unknown[] = [];
    for await (const page of dal.pages(lease, "project:alpha", "select id, text from tiles", [], { by: "id", size: 1 }))
      seen.push(...page.map((row) => row.text));
    expect(seen).toEqual(["a", "b"]);
    expect(await codeOf(dal.read(lease, "project:alpha", (sql) => sql.query("delete from tiles")))).toBe(
      "E_INVALID_ARGUMENT",
    );
    expect(await codeOf(dal.query(lease, "project:alpha", "select generate_series(1, 50001)"))).toBe(
      "E_INVALID_ARGUMENT",
    );
    expect(await texts()).toEqual(["a", "b"]);
  });
});
