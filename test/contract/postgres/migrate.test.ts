import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { openInstallation } from "../../../src/client/open-holdfast.js";
import { type Lease, migrateStore, openHoldfast } from "../../../src/index.js";
import { createSystemClock } from "../../../src/platform/clock.js";
import { identifyStore, openStore } from "../../../src/store/open.js";
import { examinePostgresStore } from "../../../src/store/postgres/examine.js";
import { createPostgresInstallation, tableSteps } from "../../../src/store/postgres/migrate.js";
import { administer, inDatabase, sharedServer, type TestServer } from "../../fixtures/postgres/server.fixture.js";

let server: TestServer;
let made = 0;
beforeAll(async () => {
  server = await sharedServer();
}, 240_000);

async function emptyDatabase(): Promise<string> {
  made += 1;
  const name = `holdfast_empty_${process.pid}_${made}`;
  await administer(server.url, `create database ${name}`);
  return inDatabase(server.url, name);
}

const isThere = async (url: string): Promise<boolean> =>
  (await administer(url, "select 1 from pg_namespace where nspname = 'holdfast'")).length === 1;

describe("the id of a store on a server", () => {
  // kills: postgres-expected
  it("is told without beginning a store, and refuses every other", async () => {
    const url = await emptyDatabase();
    expect(await identifyStore(url)).toBeNull();
    await migrateStore(url);
    expect(await identifyStore(url)).toBeNull();
    const clock = createSystemClock();
    await expect(openStore(url, {}, clock, "x")).rejects.toMatchObject({ details: { lost: "emptied" } });
    expect(await identifyStore(url)).toBeNull();
    const store = await openStore(url, {}, clock);
    expect(await identifyStore(url)).toBe(store.id);
    await (await openStore(url, {}, clock, store.id)).close();
    await expect(openStore(url, {}, clock, "x")).rejects.toMatchObject({
      code: "E_STORE_CORRUPT",
      details: { lost: "replaced", found_id: store.id },
    });
    await store.close();
  });
});

describe("migrations", () => {
  it("STORE-5: what is pending is told step by step, without doing anything", async () => {
    const url = await emptyDatabase();
    const installation = await openInstallation(url);
    const [first] = await installation.pending();
    expect(first).toMatchObject({
      about: "01-tables.sql",
      statements: expect.stringContaining("create schema holdfast"),
    });
    expect(await isThere(url)).toBe(false);
    await migrateStore(url);
    expect(await isThere(url)).toBe(true);
    expect(await installation.pending()).toEqual([]);
    await administer(url, "update holdfast.store set functions_hash = 'older'");
    expect((await installation.pending()).map(({ about }) => about)).not.toContain("01-tables.sql");
    await migrateStore(url);
    expect(await installation.pending()).toEqual([]);
  });

  it("STORE-5: a database that is not there, cannot keep all text, or has the name in use is refused with what to do", async () => {
    const latin = inDatabase(server.url, `holdfast_latin_${process.pid}`);
    await administer(
      server.url,
      `create database holdfast_latin_${process.pid} encoding 'LATIN1' locale 'C' template template0`,
    );
    await expect(migrateStore(latin)).rejects.toMatchObject({
      code: "E_CONFIG",
      next: [expect.stringContaining("encoding 'UTF8'")],
    });
    expect(await isThere(latin)).toBe(false);
    const taken = await emptyDatabase();
    await administer(taken, "create schema holdfast");
    await expect(migrateStore(taken)).rejects.toMatchObject({
      code: "E_CONFIG",
      next: [expect.stringContaining("drop schema holdfast")],
    });
    await expect(migrateStore(inDatabase(server.url, "nowhere"))).rejects.toMatchObject({
      code: "E_STORE_UNAVAILABLE",
      next: [expect.stringContaining("Create the database")],
    });
  });

  it("STORE-5: many that migrate at once do it once; what is held stays, and keeps it from being uninstalled", async () => {
    const url = await emptyDatabase();
    await Promise.all(Array.from({ length: 4 }, () => migrateStore(url)));
    const holdfast = await openHoldfast({ store: url, owner: "agent:a", heart: "loop" });
    const lease = await holdfast.acquire("k");
    await administer(url, "update holdfast.store set functions_hash = 'older'");
    await migrateStore(url);
    await lease.verify();
    const installation = await openInstallation(url);
    await expect(installation.uninstall(createSystemClock())).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
    await lease.release();
    expect(await installation.uninstall(createSystemClock())).toBe(true);
    expect(await isThere(url)).toBe(false);
    expect(await installation.uninstall(createSystemClock())).toBe(false);
    await holdfast.close();
  });

  it("STORE-5: of calls at the same time, those that lack a function on the server say how to get it", async () => {
    const url = await emptyDatabase();
    await migrateStore(url);
    await administer(url, "drop function holdfast.take_each, holdfast.release_each");
    const holdfast = await openHoldfast({ store: url, owner: "agent:a", heart: "loop" });
    const names = Array.from({ length: 9 }, (_, at) => `k${at}`);
    const leases: Lease[] = [];
    for (const name of names) leases.push(await holdfast.acquire(name));
    const releasing = await Promise.allSettled(leases.map((lease) => lease.release()));
    const taking = await Promise.allSettled(names.map((name) => holdfast.acquire(`other-${name}`)));
    for (const calls of [releasing, taking]) {
      const failed = calls.flatMap((call) => (call.status === "rejected" ? [call.reason] : []));
      expect(failed).not.toEqual([]);
      for (const error of failed)
        expect(error).toMatchObject({
          code: "E_STORE_UNAVAILABLE",
          next: [expect.stringContaining("holdfast migrate")],
        });
    }
    await holdfast.close();
  });

  it("STORE-5: a newer schema is refused and left alone", async () => {
    const url = await emptyDatabase();
    await migrateStore(url);
    await administer(url, "update holdfast.store set schema_version = 99", "drop function holdfast.steal");
    const installation = await openInstallation(url);
    for (const work of [migrateStore, () => installation.pending(), () => installation.uninstall(createSystemClock())])
      await expect(work(url)).rejects.toMatchObject({ code: "E_FORMAT_UNSUPPORTED" });
    expect(
      await administer(
        url,
        "select 1 from pg_proc where proname = 'steal' and pronamespace = 'holdfast'::regnamespace",
      ),
    ).toEqual([]);
  });

  it("functions that have changed are replaced within a version, without the scripts of tables", async () => {
    const url = await emptyDatabase();
    await migrateStore(url);
    await administer(
      url,
      "create or replace function holdfast.now_ms() returns bigint language sql volatile as 'select 7::bigint'",
      "update holdfast.store set functions_hash = 'other'",
    );
    await migrateStore(url);
    const [row] = await administer<{ now: string }>(
      url,
      "select holdfast.now_ms() as now, schema_version from holdfast.store",
    );
    expect(row).toMatchObject({ schema_version: 1 });
    expect(Number(row?.now)).toBeGreaterThan(7);
  });

  it("LIB-1: the driver is loaded only by who opens such a store", () => {
    const library = new URL("../../../dist/index.js", import.meta.url).href;
    const cwd = fileURLToPath(new URL("../../..", import.meta.url));
    const script = `
      import { createRequire } from "node:module";
      const { openHoldfast } = await import("${library}");
      await (await openHoldfast({ store: "memory:x" })).close();
      const require = createRequire("${library}");
      console.log(Object.keys(require.cache).filter((name) => name.includes("/node_modules/pg")).length);`;
    expect(
      execFileSync(process.execPath, ["--input-type=module", "-e", script], { cwd, encoding: "utf8" }).trim(),
    ).toBe("0");
  });
});

describe("an upgrade to an invented version 2", () => {
  const invented = "alter table holdfast.trees add column invented integer not null default 2";
  const upgrade = (url: string, ...also: string[]) => {
    const steps = [invented, ...also].map((statements) => ({ version: 2, about: "invented.sql", statements }));
    return createPostgresInstallation(url, [...tableSteps(), ...steps]);
  };
  const versionOf = async (url: string): Promise<unknown> =>
    (await administer(url, "select schema_version from holdfast.store"))[0]?.schema_version;
  const hasColumn = async (url: string): Promise<boolean> => {
    const column = "select 1 from information_schema.columns where table_name = 'trees' and column_name = 'invented'";
    return (await administer(url, column)).length === 1;
  };

  // kills: postgres-upgrade-once
  it("is done by one of the clients that begin it at once, and keeps what is held", async () => {
    const url = await emptyDatabase();
    await migrateStore(url);
    const holdfast = await openHoldfast({ store: url, owner: "agent:a", heart: "loop" });
    const lease = await holdfast.acquire("k");
    await administer(url, "create table public.upgrades (at timestamptz)");
    // A second upgrade would add the column again, and fail.
    const slow = "insert into public.upgrades values (now()); select pg_sleep(0.3)";
    expect((await upgrade(url).pending()).map(({ version, about }) => `${version} ${about}`)).toEqual(
      expect.arrayContaining(["2 invented.sql", "2 10-errors.sql", "2 mark"]),
    );
    await Promise.all(Array.from({ length: 3 }, () => upgrade(url, slow).install()));
    expect(await administer(url, "select 1 from public.upgrades")).toHaveLength(1);
    expect(await versionOf(url)).toBe(2);
    expect(await upgrade(url).pending()).toEqual([]);
    await lease.verify();
    await lease.release();
    expect((await holdfast.acquire("k")).fencingToken).toBeGreaterThan(lease.fencingToken);
    await holdfast.close();
  });

  it("is the same for an empty database, which gets all versions at once", async () => {
    const url = await emptyDatabase();
    await upgrade(url).install();
    expect(await versionOf(url)).toBe(2);
    expect(await upgrade(url).uninstall(createSystemClock())).toBe(true);
    expect(await isThere(url)).toBe(false);
  });

  it("shuts out clients of version 1", async () => {
    const url = await emptyDatabase();
    await upgrade(url).install();
    const older = createPostgresInstallation(url);
    for (const work of [
      () => openHoldfast({ store: url, owner: "agent:a", heart: "loop" }),
      () => examinePostgresStore(url),
      () => migrateStore(url),
      () => older.pending(),
      () => older.uninstall(createSystemClock()),
    ])
      await expect(work()).rejects.toMatchObject({
        code: "E_FORMAT_UNSUPPORTED",
        message: expect.stringContaining("has version 2 of the schema; this one knows 1"),
      });
    expect(await versionOf(url)).toBe(2);
    expect(await hasColumn(url)).toBe(true);
  });

  // kills: postgres-upgrade-whole
  it("leaves version 1 whole when it is cut off in the middle, and can be done again", async () => {
    const url = await emptyDatabase();
    await migrateStore(url);
    const dying = upgrade(url, "drop function holdfast.now_ms()", "select pg_terminate_backend(pg_backend_pid())");
    await expect(dying.install()).rejects.toMatchObject({ code: "E_STORE_UNAVAILABLE" });
    expect(await versionOf(url)).toBe(1);
    expect(await hasColumn(url)).toBe(false);
    expect(await (await openInstallation(url)).pending()).toEqual([]);
    const holdfast = await openHoldfast({ store: url, owner: "agent:a", heart: "loop" });
    await (await holdfast.acquire("k")).release();
    await holdfast.close();
    await upgrade(url).install();
    expect(await versionOf(url)).toBe(2);
    expect(await hasColumn(url)).toBe(true);
  });
});
