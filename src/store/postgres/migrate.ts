/**
 * Installs the schema and brings it up to date. A migration runs the steps for the tables that the store lacks, in the
 * order of their versions, then the scripts with the functions (10 to 90), and records the version and a hash of the
 * functions. Functions of another hash are replaced within a version too; a change of a signature drops the function in
 * its script. A migration that finds nothing to do still runs the script of the roles.
 *
 * All of it is one transaction under an advisory lock. Of several clients that migrate at once one does it, and the others
 * find it done. A crash before the commit leaves the version that was there, whole; after the commit the new one.
 */
import { hash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import pg from "pg";
import { HoldfastError } from "../../base/errors.js";
import type { Installation, MigrationStep } from "../contract.js";
import { toHoldfastError } from "./connection/error-codes.js";
import { assertSupportedUrl } from "./connection/supported-url.js";

const { basename } = posix;
const VERSION = 1;
/** The scripts with the tables, and the version that each belongs to. */
const TABLES = [
  { version: 1, script: "tables/01-tables.sql" },
  { version: 1, script: "tables/02-jobs.sql" },
  { version: 1, script: "tables/03-manifests.sql" },
];
/** Idempotent. */
const ROLES = "roles/90-roles.sql";
const SCRIPTS = new URL("./sql/", import.meta.url);

/** Throws `E_FORMAT_UNSUPPORTED` when the store has a later version of the schema than `known`. */
export function assertKnownVersion(version: number, where: string, known = VERSION): void {
  if (version <= known) return;
  throw new HoldfastError(
    "E_FORMAT_UNSUPPORTED",
    `${where} has version ${version} of the schema; this one knows ${known}`,
  );
}

/** Returns the steps that make the tables of this version, in order. */
export function tableSteps(): MigrationStep[] {
  return TABLES.map(({ version, script }) => ({ version, about: basename(script), statements: read(script) }));
}

/**
 * Opening the store does not set it up: that takes rights which its users need not have. `tables` are the steps from an
 * empty database to the version that this client knows, which is that of the last one.
 */
export function createPostgresInstallation(url: string, tables = tableSteps()): Installation {
  const known = Math.max(...tables.map(({ version }) => version));
  const pending: StepsOf = (client, version) => pendingSteps(client, version, { tables, known });
  return {
    pending: async () => (await migrate(url, { steps: pending, known, isDryRun: true })).steps,
    install: async () => (await migrate(url, { steps: withRoles(pending), known, isDryRun: false })).warnings,
    uninstall: async () => (await migrate(url, { steps: leavingSteps, known, isDryRun: false })).steps.length > 0,
  };
}

/** Chooses the steps for a store of this version; null where there is no store yet. */
type StepsOf = (client: pg.Client, version: number | null) => Promise<MigrationStep[]>;

interface Move {
  readonly steps: StepsOf;
  readonly known: number;
  readonly isDryRun: boolean;
}

/** An administrator may have made the roles since the last migration: rights are given every time. */
function withRoles(pending: StepsOf): StepsOf {
  return async (client, version) => {
    const steps = await pending(client, version);
    // mutant: postgres-roles-again: steps.length > 0 → true
    return steps.length > 0 ? steps : [{ version: VERSION, about: basename(ROLES), statements: read(ROLES) }];
  };
}

interface Moved {
  /** The steps that were taken, or would be. */
  readonly steps: readonly MigrationStep[];
  readonly warnings: readonly string[];
}

async function migrate(url: string, { steps: stepsOf, known, isDryRun }: Move): Promise<Moved> {
  assertSupportedUrl(url);
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 10_000,
    application_name: "holdfast migrate",
  });
  client.on("error", () => undefined);
  const warnings: string[] = [];
  client.on("notice", ({ severity, message = "" }) => {
    if (severity === "WARNING") warnings.push(message);
  });
  try {
    await client.connect();
    // mutant: postgres-upgrade-whole: await client.query("begin"); →
    await client.query("begin");
    // mutant: postgres-upgrade-once: await client.query("select pg_advisory_xact_lock(hashtext('holdfast migrate'))"); →
    await client.query("select pg_advisory_xact_lock(hashtext('holdfast migrate'))");
    const version = await versionOf(client);
    if (version === null) await assertRoom(client);
    else assertKnownVersion(version, client.host, known);
    const steps = await stepsOf(client, version);
    if (!isDryRun) for (const { statements } of steps) await client.query(statements);
    await client.query(isDryRun ? "rollback" : "commit");
    return { steps, warnings };
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
      reason: "unsupported_database",
      next: ["create database … encoding 'UTF8' template template0"],
    });
  if (isTaken)
    throw new HoldfastError("E_CONFIG", "the database has a schema holdfast, and there is no store in it", {
      reason: "unsupported_database",
      next: ["Give that schema another name, or drop it if it is empty: drop schema holdfast"],
    });
}

async function pendingSteps(
  client: pg.Client,
  version: number | null,
  { tables, known }: { readonly tables: readonly MigrationStep[]; readonly known: number },
): Promise<MigrationStep[]> {
  const mark = functionsMark();
  if (version === known && mark === (await markOf(client))) return [];
  const record = `update holdfast.store set schema_version = ${known}, functions_hash = '${mark}'`;
  return [
    ...tables.filter((step) => step.version > (version ?? 0)),
    ...functionScripts().map((script) => ({ version: known, about: basename(script), statements: read(script) })),
    { version: known, about: "mark", statements: record },
  ];
}

/** Returns the scripts with functions in the order of their numbers, whatever folder each lies in. */
function functionScripts(): string[] {
  const isOfTables = (path: string): boolean => TABLES.some(({ script }) => script === path);
  return readdirSync(SCRIPTS, { recursive: true, encoding: "utf8" })
    .map((path) => path.replaceAll("\\", "/"))
    .filter((path) => path.endsWith(".sql") && !isOfTables(path))
    .sort((a, b) => (basename(a) < basename(b) ? -1 : 1));
}

function read(script: string): string {
  return readFileSync(new URL(script, SCRIPTS), "utf8");
}

/** What a store has on record that has the functions of this version. */
export function functionsMark(): string {
  return hash("sha256", functionScripts().map(read).join("\n"), "hex");
}

async function markOf(client: pg.Client): Promise<string | undefined> {
  return (await client.query("select functions_hash from holdfast.store")).rows[0]?.functions_hash;
}

async function leavingSteps(client: pg.Client, version: number | null): Promise<MigrationStep[]> {
  if (version === null) return [];
  const { rows } = await client.query("select resource, owner from holdfast.grants limit 1");
  if (rows[0] !== undefined)
    throw new HoldfastError("E_LOCK_CONFLICT", `${rows[0].resource} is still held by ${rows[0].owner}`, {
      next: ["Release or break what is held, then uninstall."],
    });
  return [{ version, about: "uninstall", statements: "drop schema holdfast cascade" }];
}
