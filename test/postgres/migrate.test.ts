import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { type Lease, migrateStore, openHoldfast } from "../../src/index.js";
import { openInstallation } from "../../src/open-holdfast.js";
import { listManifests } from "../../src/publish/index.js";
import { createSystemClock } from "../../src/support/clock.js";
import { administer, inDatabase, sharedServer, type TestServer } from "./server.js";

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

  it("STORE-5: an older schema gets the tables that it lacks, and keeps what is in it", async () => {
    const url = await emptyDatabase();
    const script = (name: string) =>
      readFileSync(new URL(`../../src/store/postgres/sql/${name}`, import.meta.url), "utf8");
    await administer(
      url,
      script("01-tables.sql"),
      script("02-jobs.sql"),
      "insert into holdfast.trees (tree, fence) values ('k', 41)",
    );
    await migrateStore(url);
    expect(await (await openInstallation(url)).pending()).toEqual([]);
    expect(await administer(url, "select fence, publishing from holdfast.trees")).toEqual([
      { fence: "41", publishing: 0 },
    ]);
    const holdfast = await openHoldfast({ store: url, owner: "agent:a", heart: "loop" });
    expect((await holdfast.acquire("k")).fencingToken).toBeGreaterThan(41);
    expect(await listManifests(holdfast)).toEqual([]);
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

  it("LIB-1: the driver is loaded only by who opens such a store", () => {
    const library = new URL("../../dist/index.js", import.meta.url).href;
    const cwd = fileURLToPath(new URL("../..", import.meta.url));
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
