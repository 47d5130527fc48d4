/**
 * Setting the schema up and bringing it up to date: numbered scripts, once and only forward, all in one transaction under
 * an advisory lock, so that two that migrate at once do it one after the other. Scripts of tables (01 to 09) belong to a
 * version; the functions after them are replaced when they are not the ones on record.
 */
import { hash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import pg from "pg";
import { HoldfastError } from "../../support/errors.js";
import type { Installation, MigrationStep } from "../contract.js";
import { toHoldfastError } from "./error-codes.js";

const VERSION = 5;
const SCRIPTS = new URL("./sql/", import.meta.url);

/** `E_FORMAT_UNSUPPORTED` for a store of a version that is yet to come. */
export function assertKnownVersion(version: number, where: string): void {
  if (version <= VERSION) return;
  throw new HoldfastError(
    "E_FORMAT_UNSUPPORTED",
    `${where} has version ${version} of the schema; this one knows ${VERSION}`,
  );
}

/** Opening the store does not set it up: that takes rights which its users need not have. */
export function createPostgresInstallation(url: string): Installation {
  return {
    pending: () => migrate(url, { steps: pendingSteps, isDryRun: true }),
    async install() {
      await migrate(url, { steps: pendingSteps, isDryRun: false });
    },
    async uninstall() {
      return (await migrate(url, { steps: leavingSteps, isDryRun: false })).length > 0;
    },
  };
}

interface Move {
  readonly steps: (client: pg.Client, version: number | null) => Promise<MigrationStep[]>;
  readonly isDryRun: boolean;
}

/** The steps that were taken, or would be. */
async function migrate(url: string, { steps: stepsOf, isDryRun }: Move): Promise<readonly MigrationStep[]> {
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
    if (version === null) await assertRoom(client);
    else assertKnownVersion(version, client.host);
    const steps = await stepsOf(client, version);
    if (!isDryRun) for (const { statements } of steps) await client.query(statements);
    await client.query(isDryRun ? "rollback" : "commit");
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

/** For a first time: owners and metadata are any text, and what others have under our name is left alone. */
async function assertRoom(client: pg.Client): Promise<void> {
  const { rows } = await client.query(
    "select current_setting('server_encoding') as encoding, to_regnamespace('holdfast') is not null as is_taken",
  );
  const { encoding, is_taken: isTaken } = rows[0];
  if (encoding !== "UTF8")
    throw new HoldfastError("E_CONFIG", `the database has the encoding ${encoding}, and UTF8 is needed`, {
      next: ["create database … encoding 'UTF8' template template0"],
    });
  if (isTaken)
    throw new HoldfastError("E_CONFIG", "the database has a schema holdfast, and there is no store in it", {
      next: ["Give that schema another name, or drop it if it is empty: drop schema holdfast"],
    });
}

async function pendingSteps(client: pg.Client, version: number | null): Promise<MigrationStep[]> {
  const scripts = readScripts();
  const functions = scripts.filter(isFunctions);
  const mark = functionsMark();
  if (version === VERSION && mark === (await markOf(client))) return [];
  const tables = scripts.filter(({ about }) => (versionOfScript(about) ?? 0) > (version ?? 0));
  return [...tables, ...functions, step("mark", `update holdfast.store set functions_hash = '${mark}'`)];
}

function readScripts(): MigrationStep[] {
  return readdirSync(SCRIPTS)
    .filter((name) => name.endsWith(".sql"))
    .sort()
    .map((name) => step(name, readFileSync(new URL(name, SCRIPTS), "utf8")));
}

function isFunctions({ about }: MigrationStep): boolean {
  return versionOfScript(about) === null;
}

/** What a store has on record that has the functions of this version. */
export function functionsMark(): string {
  const functions = readScripts().filter(isFunctions);
  return hash("sha256", functions.map(({ statements }) => statements).join("\n"), "hex");
}

async function markOf(client: pg.Client): Promise<string | undefined> {
  return (await client.query("select functions_hash from holdfast.store")).rows[0]?.functions_hash;
}

function step(about: string, statements: string): MigrationStep {
  return { version: VERSION, about, statements };
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
  return [step("uninstall", "drop schema holdfast cascade")];
}
