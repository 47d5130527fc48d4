/**
 * Reports what opening a database would change, and removes a store's tables. The removal runs under the turnstile and
 * in one write transaction: when nothing is held, the tables go. When they were all there was, so does the file. A
 * process that has it open finds no tables, or a file that is gone, and reports it; the next process that opens it
 * begins anew.
 */
import { resolve } from "node:path";
import { HoldfastError } from "../../base/errors.js";
import { removeFile } from "../../files/durable-file.js";
import { enterAll } from "../../files/guard.js";
import type { Clock } from "../../platform/clock.js";
import { isThere } from "../../platform/look-up.js";
import type { Installation } from "../contract.js";
import { assertNothingHeld } from "../still-held.js";
import { Database } from "./connection/database.js";
import { knownVersion, runMissing } from "./connection/migrate.js";
import { MIGRATIONS, type Migration, missingMigrations, tablesOf } from "./connection/schema.js";
import { openTurnstile } from "./connection/turnstile.js";
import { assertNotEmpty } from "./make.js";
import { Tables } from "./tables.js";

const AT_ONCE = 50_000;

export function createSqliteInstallation(place: string, migrations: readonly Migration[] = MIGRATIONS): Installation {
  const path = resolve(place);
  return {
    async pending() {
      assertNotEmpty(path);
      const version = isThere(path) ? withDatabase(path, (database) => knownVersion(database, migrations)) : 0;
      return missingMigrations(migrations, version).map(({ version, about, sql }) => ({
        version,
        about,
        statements: sql.trim(),
      }));
    },
    install: async () => [],
    async uninstall(clock) {
      assertNotEmpty(path);
      if (!isThere(path)) return false;
      const turnstile = openTurnstile(`${path}-turn`);
      await enterAll([turnstile], path);
      try {
        return dropAll(path, migrations, clock);
      } finally {
        turnstile.leave();
        turnstile.close();
      }
    },
  };
}

function dropAll(path: string, migrations: readonly Migration[], clock: Clock): boolean {
  const isEmpty = withDatabase(path, (database) => {
    if (knownVersion(database, migrations) === 0) return null;
    if (!database.tryBegin())
      throw new HoldfastError("E_STORE_UNAVAILABLE", `${path} is locked by another writer`, { reason: "busy" });
    try {
      runMissing(database, migrations);
      // mutant: uninstall-while-held: assertFree(database, clock); →
      assertFree(database, clock);
      for (const table of tablesOf(migrations)) database.exec(`DROP TABLE ${table}`);
      database.exec("PRAGMA user_version = 0");
      const others = database.prepare("SELECT count(*) FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'").get()?.[0];
      database.commit();
      return Number(others) === 0;
    } catch (error) {
      database.rollBack();
      throw error;
    }
  });
  if (isEmpty === true) for (const name of [path, `${path}-wal`, `${path}-shm`]) removeFile(name);
  return isEmpty !== null;
}

/** A record that cannot be read counts as held. */
function assertFree(database: Database, clock: Clock): void {
  const grants = new Tables(database).grantList.page({ prefix: null, after: null, limit: AT_ONCE });
  assertNothingHeld(grants, clock(), `sqlite:${database.path}`);
  const count = Number(database.prepare("SELECT count(*) FROM dal_locks").get()?.[0]);
  if (count > grants.length)
    throw new HoldfastError("E_LOCK_CONFLICT", `${count - grants.length} grants in ${database.path} cannot be read`);
}

function withDatabase<T>(path: string, action: (database: Database) => T): T {
  const database = new Database(path);
  try {
    return action(database);
  } finally {
    database.close();
  }
}
