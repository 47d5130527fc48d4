/** Brings a database up to the current schema, once, under its own write lock, and records what everybody must agree on. */
import { assertAgree, type Settings } from "../../lock/settings.js";
import { HoldfastError } from "../../support/errors.js";
import { firstSettings } from "../first-settings.js";
import type { Database } from "./database.js";
import { MIGRATIONS, newerSchema, SCHEMA_VERSION } from "./schema.js";

/** Call it inside the turnstile. `E_FORMAT_UNSUPPORTED` for a newer schema, `E_CONFIG` when settings disagree. */
export function migrate(database: Database, stated: Partial<Settings>): Settings {
  if (!database.tryBegin())
    throw new HoldfastError("E_STORE_UNAVAILABLE", `${database.path} is locked by another writer`);
  try {
    const version = schemaOf(database);
    if (version > SCHEMA_VERSION) throw newerSchema(database.path, version);
    for (const step of MIGRATIONS) if (step.version > version) database.exec(step.sql);
    if (version < SCHEMA_VERSION) database.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`);
    const settings = agreeOnSettings(database, stated);
    database.commit();
    return settings;
  } catch (error) {
    database.rollBack();
    throw error;
  }
}

/** What is on record in a database that has the current schema, or null where `migrate` has something to do. `E_CONFIG` */
export function settingsAsTheyAre(database: Database, stated: Partial<Settings>): Settings | null {
  return schemaOf(database) === SCHEMA_VERSION ? recordedSettings(database, stated) : null;
}

function schemaOf(database: Database): number {
  return Number(database.prepare("PRAGMA user_version").get()?.[0]);
}

function recordedSettings(database: Database, stated: Partial<Settings>): Settings | null {
  const recorded = database.prepare("SELECT value FROM settings WHERE name = 'settings'").get()?.[0];
  if (typeof recorded !== "string") return null;
  const settings = JSON.parse(recorded) as Settings;
  assertAgree(settings, stated);
  return settings;
}

function agreeOnSettings(database: Database, stated: Partial<Settings>): Settings {
  const recorded = recordedSettings(database, stated);
  if (recorded !== null) return recorded;
  const settings = firstSettings(stated);
  database.prepare("INSERT INTO settings (name, value) VALUES ('settings', ?)").get(JSON.stringify(settings));
  return settings;
}
