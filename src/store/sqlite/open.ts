/** Opens `sqlite:PATH`: one database file on a local disk, with its proofs of life in `alive/` beside it. */
import { existsSync, mkdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { HoldfastError, ioError } from "../../base/errors.js";
import { syncFolder } from "../../files/durable-file.js";
import { enterAll } from "../../files/guard.js";
import type { Settings } from "../../lock/settings.js";
import type { Instant } from "../../lock/time.js";
import type { Clock } from "../../platform/clock.js";
import { assertLocalFileSystem, probeFileSystem } from "../../platform/file-system.js";
import type { Store } from "../contract.js";
import { openProofFolder } from "../local/liveness-and-wake-ups.js";
import { createLocalStore } from "../local/local-store.js";
import { assertNothingForeign, isOtherMachine, type MachineRecord, machineRecord } from "../local/one-machine.js";
import { Database } from "./connection/database.js";
import { migrate, settingsAsTheyAre } from "./connection/migrate.js";
import { MIGRATIONS, type Migration } from "./connection/schema.js";
import { openTurnstile } from "./connection/turnstile.js";
import { activeJobs } from "./jobs/active-jobs.js";
import { SqliteLedger } from "./ledger.js";
import { createRecords } from "./records.js";
import { Tables } from "./tables.js";

export async function openSqliteStore(
  place: string,
  stated: Partial<Settings>,
  clock: Clock,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<Store> {
  if (place === "")
    throw new HoldfastError("E_CONFIG", "sqlite: needs a path", {
      reason: "invalid_store_url",
      next: ["Write sqlite:PATH."],
    });
  const path = resolve(place);
  prepareFolder(dirname(path), !existsSync(path));

  const turnstile = openTurnstile(`${path}-turn`);
  let database: Database | null = null;
  try {
    // mutant: open-in-turn: isInUse(path) ? new Database(path) : null → null
    database = isInUse(path) ? new Database(path) : null;
    let settings = database === null ? null : settingsHere(database, stated, clock(), migrations);
    if (database === null || settings === null) {
      await enterAll([turnstile], path);
      const isNew = !existsSync(path);
      database ??= new Database(path);
      settings = setUp(database, stated, clock(), migrations);
      if (isNew) syncFolder(dirname(path));
      turnstile.leave();
    }
    database.opened();
    const ledger = new SqliteLedger(`sqlite:${path}`, database, turnstile, settings, clock);
    const proofs = join(dirname(path), "alive");
    return createLocalStore(ledger, openProofFolder(proofs, settings, activeJobs(database, clock)));
  } catch (error) {
    database?.close();
    turnstile.close(); // And so leaves it. Whoever beats for a lease tries again and again.
    throw error;
  }
}

/** False where nobody has it open, or it is being made, or somebody has taken it away. */
function isInUse(path: string): boolean {
  return existsSync(path) && existsSync(`${path}-wal`);
}

/**
 * A database that needs nothing done to it is opened by reading alone: whoever was stopped inside the turnstile, while it
 * opened the same file, keeps nobody from that. Null where there is something to do. `E_CONFIG`
 */
function settingsHere(
  database: Database,
  stated: Partial<Settings>,
  now: Instant,
  migrations: readonly Migration[],
): Settings | null {
  return database.readAtOnce(() => {
    const settings = settingsAsTheyAre(database, stated, migrations);
    const machine = settings === null ? null : machineOf(database);
    return machine === null || isOtherMachine(machine, now) ? null : settings;
  });
}

/** Inside the turnstile. `E_CONFIG` also while something is held from another machine, the one on record. */
function setUp(
  database: Database,
  stated: Partial<Settings>,
  now: Instant,
  migrations: readonly Migration[],
): Settings {
  const settings = migrate(database, stated, migrations);
  const recorded = machineOf(database);
  if (recorded !== null && !isOtherMachine(recorded, now)) return settings;
  if (recorded !== null)
    assertNothingForeign(createRecords(database, new Tables(database)), now, `sqlite:${database.path}`);
  const machine = JSON.stringify(machineRecord(now));
  database.prepare("INSERT OR REPLACE INTO settings (name, value) VALUES ('machine', ?)").get(machine);
  return settings;
}

function machineOf(database: Database): MachineRecord | null {
  const text = database.prepare("SELECT value FROM settings WHERE name = 'machine'").get()?.[0];
  return typeof text === "string" ? (JSON.parse(text) as MachineRecord) : null;
}

function prepareFolder(folder: string, isNew: boolean): void {
  try {
    const first = mkdirSync(folder, { recursive: true });
    if (first !== undefined) syncNames(first, folder);
  } catch (error) {
    throw ioError(error, "create", folder);
  }
  assertLocalFileSystem(folder);
  if (isNew) probeFileSystem(folder);
}

/** What is durable in the database must not be lost with the name of a folder that leads to it. */
function syncNames(first: string, last: string): void {
  for (let folder = last; ; folder = dirname(folder)) {
    syncFolder(dirname(folder));
    if (folder === first) return;
  }
}
