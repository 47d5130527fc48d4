/**
 * Brings a database up to the current schema, once, under its own write lock, and records its id and the settings that
 * all users must agree on.
 */
import { randomUUID } from "node:crypto";
import { HoldfastError } from "../../../base/errors.js";
import { assertAgree, type Settings } from "../../../lock/settings.js";
import { firstSettings } from "../../first-settings.js";
import type { Database } from "./database.js";
import { type Migration, missingMigrations, newestVersion } from "./schema.js";

/** What a database has on record about itself. */
export interface StoreFacts {
  readonly id: string;
  readonly settings: Settings;
}

/** Call it inside the turnstile. `E_FORMAT_UNSUPPORTED` for a newer schema, `E_CONFIG` when settings disagree. */
export function migrate(database: Database, stated: Partial<Settings>, migrations: readonly Migration[]): StoreFacts {
  if (!database.tryBegin())
    throw new HoldfastError("E_STORE_UNAVAILABLE", `${database.path} is locked by another writer`, { reason: "busy" });
  try {
    runMissing(database, migrations);
    const facts = agreeOn(database, stated);
    database.commit();
    return facts;
  } catch (error) {
    database.rollBack();
    throw error;
  }
}

/**
 * Runs, inside the transaction that is open, the migrations that the database has not had: a crash in the middle leaves the
 * version it had. Throws `E_FORMAT_UNSUPPORTED` for a newer schema.
 */
export function runMissing(database: Database, migrations: readonly Migration[]): void {
  const missing = missingMigrations(migrations, knownVersion(database, migrations));
  // mutant: upgrade-in-parts: database.exec(sql → for (const part of [sql, "COMMIT", "BEGIN IMMEDIATE"]) database.exec(part
  for (const { sql } of missing) database.exec(sql);
  // mutant: upgrade-version: if (missing.length > 0) database → if (missing.length > 9) database
  if (missing.length > 0) database.exec(`PRAGMA user_version = ${newestVersion(migrations)}`);
}

/** Returns the schema version, 0 where there are no tables yet. Throws `E_FORMAT_UNSUPPORTED` for a newer schema. */
export function knownVersion(database: Database, migrations: readonly Migration[]): number {
  const [version, known] = [schemaOf(database), newestVersion(migrations)];
  // mutant: newer-schema: <= known) return version; → <= known || known > 0) return version;
  if (version <= known) return version;
  throw new HoldfastError(
    "E_FORMAT_UNSUPPORTED",
    `${database.path} has schema version ${version}; this version of holdfast knows ${known}`,
  );
}

/** What is on record in a database that has the newest schema, or null where `migrate` has something to do. `E_CONFIG` */
export function factsAsTheyAre(
  database: Database,
  stated: Partial<Settings>,
  migrations: readonly Migration[],
): StoreFacts | null {
  return schemaOf(database) === newestVersion(migrations) ? recordedFacts(database, stated) : null;
}

export function schemaOf(database: Database): number {
  return Number(database.prepare("PRAGMA user_version").get()?.[0]);
}

export function recorded(database: Pick<Database, "prepare">, name: string): string | null {
  const value = database.prepare("SELECT value FROM settings WHERE name = ?").get(name)?.[0];
  return typeof value === "string" ? value : null;
}

function recordedFacts(database: Database, stated: Partial<Settings>): StoreFacts | null {
  const [id, text] = [recorded(database, "store_id"), recorded(database, "settings")];
  if (id === null || text === null) return null;
  const settings = JSON.parse(text) as Settings;
  assertAgree(settings, stated);
  return { id, settings };
}

function agreeOn(database: Database, stated: Partial<Settings>): StoreFacts {
  const known = recordedFacts(database, stated);
  if (known !== null) return known;
  const facts = { id: randomUUID(), settings: firstSettings(stated) };
  const insert = database.prepare("INSERT INTO settings (name, value) VALUES (?, ?)");
  insert.get("store_id", facts.id);
  insert.get("settings", JSON.stringify(facts.settings));
  return facts;
}
