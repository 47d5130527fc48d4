/** `sqlite:PATH`: one database file on a local disk, with its proofs of life in `alive/` beside it. */
import { existsSync, mkdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Settings } from "../../lock/settings.js";
import type { Instant } from "../../lock/time.js";
import type { Clock } from "../../support/clock.js";
import { syncFolder } from "../../support/durable-file.js";
import { HoldfastError, ioError } from "../../support/errors.js";
import { assertLocalFileSystem, probeFileSystem } from "../../support/file-system.js";
import { enterAll, type Guard } from "../../support/guard.js";
import type { Store } from "../contract.js";
import { createLocalStore } from "../local-store.js";
import { assertNothingForeign, isOtherMachine, type MachineRecord, machineRecord } from "../one-machine.js";
import { openProofFolder } from "../surroundings.js";
import { activeJobs } from "./active-jobs.js";
import { Database } from "./database.js";
import { SqliteLedger } from "./ledger.js";
import { migrate } from "./migrate.js";
import { openTurnstile } from "./turnstile.js";

export async function openSqliteStore(place: string, stated: Partial<Settings>, clock: Clock): Promise<Store> {
  if (place === "") throw new HoldfastError("E_CONFIG", "sqlite: needs a path", { next: ["Write sqlite:PATH."] });
  const path = resolve(place);
  prepareFolder(dirname(path), !existsSync(path));

  const turnstile = openTurnstile(`${path}-turn`);
  try {
    await enterAll([turnstile], path);
    const store = openInside(turnstile, path, stated, clock);
    turnstile.leave();
    return store;
  } catch (error) {
    turnstile.close(); // And so leaves it. Whoever beats for a lease tries again and again.
    throw error;
  }
}

function openInside(turnstile: Guard, path: string, stated: Partial<Settings>, clock: Clock): Store {
  const folder = dirname(path);
  const isNew = !existsSync(path);
  const database = new Database(path);
  try {
    const settings = migrate(database, stated);
    if (isNew) syncFolder(folder);
    database.opened();
    const ledger = new SqliteLedger(`sqlite:${path}`, database, turnstile, settings, clock);
    claimForThisMachine(database, ledger, clock());
    return createLocalStore(ledger, openProofFolder(join(folder, "alive"), settings, activeJobs(database, clock)));
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Inside the turnstile. `E_CONFIG` while something is held from the machine on record. */
function claimForThisMachine(database: Database, { records, url }: SqliteLedger, now: Instant): void {
  const text = database.prepare("SELECT value FROM settings WHERE name = 'machine'").get()?.[0];
  const recorded = typeof text === "string" ? (JSON.parse(text) as MachineRecord) : null;
  if (isOtherMachine(recorded, now)) assertNothingForeign(records, now, url);
  else if (recorded !== null) return;
  const machine = JSON.stringify(machineRecord(now));
  database.prepare("INSERT OR REPLACE INTO settings (name, value) VALUES ('machine', ?)").get(machine);
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
