import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { migrateStore, openHoldfast } from "../../src/index.js";
import { administer, inDatabase, sharedServer, type TestServer } from "./server.js";

let server: TestServer;
let made = 0;
beforeAll(async () => {
  server = await sharedServer();
}, 60_000);

async function emptyDatabase(): Promise<string> {
  made += 1;
  const name = `holdfast_empty_${process.pid}_${made}`;
  await administer(server.url, `create database ${name}`);
  return inDatabase(server.url, name);
}

const isThere = async (url: string): Promise<boolean> =>
  (await administer(url, "select 1 from pg_namespace where nspname = 'holdfast'")).length === 1;

describe("migrations", () => {
  it("STORE-5: a dry run tells every step and does nothing", async () => {
    const url = await emptyDatabase();
    const steps = await migrateStore(url, { dryRun: true });
    expect(steps[0]).toMatchObject({ name: "01-tables.sql", sql: expect.stringContaining("create schema holdfast") });
    expect(await isThere(url)).toBe(false);
    expect(await migrateStore(url)).toEqual(steps);
    expect(await isThere(url)).toBe(true);
  });

  it("STORE-5: many that migrate at once do it once, and again it keeps what is there", async () => {
    const url = await emptyDatabase();
    const all = await Promise.all(Array.from({ length: 4 }, () => migrateStore(url)));
    expect(all.filter((steps) => steps[0]?.name === "01-tables.sql")).toHaveLength(1);
    const holdfast = await openHoldfast({ store: url, owner: "agent:a", heart: "loop" });
    const lease = await holdfast.acquire("k");
    await migrateStore(url);
    await lease.verify();
    await expect(migrateStore(url, { uninstall: true })).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
    await lease.release();
    await migrateStore(url, { uninstall: true, dryRun: true });
    expect(await isThere(url)).toBe(true);
    await migrateStore(url, { uninstall: true });
    expect(await isThere(url)).toBe(false);
    await holdfast.close();
  });

  it("STORE-5: a newer schema is refused and left alone", async () => {
    const url = await emptyDatabase();
    await migrateStore(url);
    await administer(url, "update holdfast.store set schema_version = 99", "drop function holdfast.steal");
    for (const options of [{}, { dryRun: true }, { uninstall: true }])
      await expect(migrateStore(url, options)).rejects.toMatchObject({ code: "E_FORMAT_UNSUPPORTED" });
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
