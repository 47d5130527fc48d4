/**
 * Opens `sqlite:PATH`: one database file on a local disk, with its proofs of life in `alive/` beside it. A crash while a
 * database is made leaves none or a whole one (make.ts). Tables that are added to a database of another program come in one
 * transaction.
 */
import { dirname, join, resolve } from "node:path";
import { HoldfastError, ioError } from "../../base/errors.js";
import { syncFolder } from "../../files/durable-file.js";
import { enterAll, type Guard } from "../../files/guard.js";
import type { Settings } from "../../lock/settings.js";
import type { Instant } from "../../lock/time.js";
import type { Clock } from "../../platform/clock.js";
import { assertLocalFileSystem, probeFileSystem } from "../../platform/file-system.js";
import { makeHome } from "../../platform/folder-rights.js";
import type { Store } from "../contract.js";
import { openProofFolder } from "../local/liveness-and-wake-ups.js";
import { createLocalStore } from "../local/local-store.js";
import { assertNothingForeign, isOtherMachine, type MachineRecord, machineRecord } from "../local/one-machine.js";
import { freeClosed } from "./connection/closed-connections.js";
import { Database } from "./connection/database.js";
import { factsAsTheyAre, migrate, recorded, type StoreFacts } from "./connection/migrate.js";
import { Presence } from "./connection/presence.js";
import { MIGRATIONS, type Migration } from "./connection/schema.js";
import { openTurnstile } from "./connection/turnstile.js";
import { assertExpected, assertMeant } from "./identify.js";
import { activeJobs } from "./jobs/active-jobs.js";
import { SqliteLedger } from "./ledger.js";
import { assertNotEmpty, makeDatabase, stateOf } from "./make.js";
import { createRecords } from "./records.js";
import { Tables } from "./tables.js";

export interface SqliteOptions {
  /** The store must be there already and have this id: otherwise it is lost, and nothing is created or changed. */
  readonly expectedId?: string | undefined;
  readonly migrations?: readonly Migration[];
}

export async function openSqliteStore(
  place: string,
  stated: Partial<Settings>,
  clock: Clock,
  { expectedId, migrations = MIGRATIONS }: SqliteOptions = {},
): Promise<Store> {
  if (place === "")
    throw new HoldfastError("E_CONFIG", "sqlite: needs a path", {
      reason: "invalid_store_url",
      next: ["Write sqlite:PATH."],
    });
  await freeClosed();
  const path = resolve(place);
  const url = `sqlite:${path}`;
  if (expectedId === undefined) assertNotEmpty(path);
  else if (!isInUse(path)) assertExpected(path, expectedId);
  prepareFolder(dirname(path), stateOf(path) === "missing");

  const isMeant = (database: Database): void => {
    if (expectedId !== undefined) assertMeant(database, expectedId);
  };
  let opened: Opened | null = null;
  let turnstile: Guard | null = null;
  try {
    // mutant: open-in-turn: isInUse(path) ? openHere → isInUse("") ? openHere
    opened = isInUse(path) ? openHere(path, isMeant) : null;
    turnstile = openTurnstile(`${path}-turn`);
    let facts = opened === null ? null : factsHere(opened, stated, clock(), migrations);
    if (opened === null || facts === null) {
      await enterAll([turnstile], path);
      if (stateOf(path) !== "there") {
        if (expectedId !== undefined) assertExpected(path, expectedId);
        makeDatabase(path, (database) => migrate(database, stated, migrations));
        assertNotEmpty(path);
      }
      opened ??= openHere(path, isMeant);
      // What this writes begins the WAL, so that the first lock does not have to.
      facts = setUp(opened, stated, clock(), migrations);
      turnstile.leave();
    }
    const { database, presence } = opened;
    presence.assert();
    database.opened();
    const ledger = new SqliteLedger({ url, ...facts, database, presence }, turnstile, clock);
    const proofs = join(dirname(path), "alive");
    return createLocalStore(ledger, openProofFolder(proofs, facts.settings, clock(), activeJobs(database, clock)));
  } catch (error) {
    opened?.database.close();
    turnstile?.close(); // And so leaves it. A renewer tries to open the store again and again.
    throw error;
  }
}

interface Opened {
  readonly database: Database;
  readonly presence: Presence;
}

/** The file is looked at before and, by the caller, after it was opened: so it is the one that is open. */
function openHere(path: string, isMeant: (database: Database) => void): Opened {
  const presence = new Presence(path);
  return { presence, database: new Database(path, { isMeant }) };
}

/** False where no process has it open, or it is being made, or it was taken away or emptied. */
function isInUse(path: string): boolean {
  return stateOf(path) === "there" && stateOf(`${path}-wal`) !== "missing";
}

/**
 * A database that needs nothing done to it is opened by reading alone: a process that was stopped inside the turnstile,
 * while it opened the same file, keeps no other from that. Null where there is something to do. `E_CONFIG`
 */
function factsHere(
  { database, presence }: Opened,
  stated: Partial<Settings>,
  now: Instant,
  migrations: readonly Migration[],
): StoreFacts | null {
  return database.readAtOnce(() => {
    const facts = factsAsTheyAre(database, stated, migrations);
    const home = facts === null ? null : homeOf(database);
    return home === null || isOtherMachine(home, now) || home.file !== presence.identity ? null : facts;
  });
}

/** As recorded in the database. */
interface HomeRecord extends MachineRecord {
  /** The file that the database was in. */
  readonly file?: string;
}

/**
 * Inside the turnstile. `E_CONFIG` also while something is held from another machine, the one on record.
 *
 * In a copy, and in a file that was restored, no tree goes on in its block of fencing tokens. That is on the disk before the
 * file is on record, and after a crash in between it is done again.
 */
function setUp(
  { database, presence }: Opened,
  stated: Partial<Settings>,
  now: Instant,
  migrations: readonly Migration[],
): StoreFacts {
  const facts = migrate(database, stated, migrations);
  const known = homeOf(database);
  const isElsewhere = isOtherMachine(known, now);
  if (known !== null && !isElsewhere && known.file === presence.identity) return facts;
  if (isElsewhere) assertNothingForeign(createRecords(database, new Tables(database)), now, `sqlite:${database.path}`);
  // mutant: sqlite-copied: database.exec("UPDATE trees SET boot = 0"); →
  database.exec("UPDATE trees SET boot = 0");
  const home: HomeRecord = { ...machineRecord(now), file: presence.identity };
  database.prepare("INSERT OR REPLACE INTO settings (name, value) VALUES ('machine', ?)").get(JSON.stringify(home));
  return facts;
}

function homeOf(database: Database): HomeRecord | null {
  const text = recorded(database, "machine");
  return text === null ? null : (JSON.parse(text) as HomeRecord);
}

function prepareFolder(folder: string, isNew: boolean): void {
  try {
    const first = makeHome(folder);
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
