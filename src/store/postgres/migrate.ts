/**
 * Setting the schema up and bringing it up to date: numbered scripts, once and only forward, all in one transaction under
 * an advisory lock, so that two that migrate at once do it one after the other. Scripts of tables (01 to 09) belong to a
 * version; the functions after them are replaced every time.
 */
import { readdirSync, readFileSync } from "node:fs";
import pg from "pg";
import { HoldfastError } from "../../support/errors.js";
import type { MigrationOptions, MigrationStep } from "../migration.js";
import { toHoldfastError } from "./error-codes.js";

const VERSION = 1;
const SCRIPTS = new URL("./sql/", import.meta.url);

/** `E_FORMAT_UNSUPPORTED` for a store of a version that is yet to come. */
export function assertKnownVersion(version: number, where: string): void {
  if (version <= VERSION) return;
  throw new HoldfastError(
    "E_FORMAT_UNSUPPORTED",
    `${where} has version ${version} of the schema; this one knows ${VERSION}`,
  );
}

/** The steps that were taken, or would be. */
export async function migratePostgres(
  url: string,
  { dryRun = false, uninstall = false }: MigrationOptions = {},
): Promise<readonly MigrationStep[]> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 10_000,
    application_name: "holdfast migrate",
  });
  client.on("error", () => undefined);
  try {
    await client.connect();
    await client.query("begin");
    await client.query("select pg_advisory_xact_lock(hashtext('holdfast migrate'))");
    const version = await versionOf(client);
    if (version !== null) assertKnownVersion(version, client.host);
    const steps = uninstall ? await leavingSteps(client, version) : stepsFrom(version ?? 0);
    if (!dryRun) for (const { sql } of steps) await client.query(sql);
    await client.query(dryRun ? "rollback" : "commit");
    return steps;
  } catch (error) {
    throw toHoldfastError(error, client.host);
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function versionOf(client: pg.Client): Promise<number | null> {
  const { rows } = await client.query("select to_regclass('holdfast.store') is not null as is_there");
  if (!rows[0]?.is_there) return null;
  return (await client.query("select schema_version from holdfast.store")).rows[0]?.schema_version ?? 0;
}

function stepsFrom(version: number): MigrationStep[] {
  return readdirSync(SCRIPTS)
    .filter((name) => name.endsWith(".sql") && (versionOfScript(name) ?? VERSION + 1) > version)
    .sort()
    .map((name) => ({ name, sql: readFileSync(new URL(name, SCRIPTS), "utf8") }));
}

/** Null for functions. */
function versionOfScript(name: string): number | null {
  const number = Number(name.slice(0, 2));
  return number < 10 ? number : null;
}

async function leavingSteps(client: pg.Client, version: number | null): Promise<MigrationStep[]> {
  if (version === null) return [];
  const { rows } = await client.query("select resource, owner from holdfast.grants limit 1");
  if (rows[0] !== undefined)
    throw new HoldfastError("E_LOCK_CONFLICT", `${rows[0].resource} is still held by ${rows[0].owner}`, {
      next: ["Release or break what is held, then uninstall."],
    });
  return [{ name: "uninstall", sql: "drop schema holdfast cascade" }];
}
