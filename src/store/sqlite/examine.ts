/**
 * Opens a database for commands that only read, and examines it for the doctor. The doctor changes nothing at all, not even
 * the `-shm` that SQLite writes when it reads beside a WAL: it reads a copy of the database and its WAL, elsewhere. When
 * both stood still while they were copied, the copy is of one moment.
 */
import { copyFileSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { HoldfastError, ioError } from "../../base/errors.js";
import { assertAgree, type Settings } from "../../lock/settings.js";
import type { Clock } from "../../platform/clock.js";
import { isThere } from "../../platform/look-up.js";
import type { Examination, Store } from "../contract.js";
import { lifeByProofs } from "../local/liveness-and-wake-ups.js";
import { createReader } from "../local/local-store.js";
import { createReadingStore } from "../local/reading-store.js";
import { freeClosed } from "./connection/closed-connections.js";
import type { Database } from "./connection/database.js";
import { recorded, type StoreFacts, schemaOf } from "./connection/migrate.js";
import { MIGRATIONS, type Migration, newestVersion } from "./connection/schema.js";
import { assertNotEmpty, stateOf } from "./make.js";
import { ReadConnection } from "./read-connection.js";
import { recordsOf } from "./records.js";

const COPIES = 20;

interface Found extends StoreFacts {
  readonly connection: ReadConnection;
}

export function examineSqliteStore(place: string, migrations: readonly Migration[] = MIGRATIONS): Examination | null {
  const path = resolve(place);
  if (!isMade(path)) return null;
  // mutant: doctor-touches: = copyAtRest(path); → : string | null = copyAtRest(path) === null ? path : null;
  const copy = copyAtRest(path);
  const removeCopy = (): void => {
    if (copy !== null) rmSync(dirname(copy), { recursive: true, force: true });
  };
  const { connection, id, settings } = openFound(copy ?? path, path, migrations, removeCopy);
  const records = recordsOf(connection);
  return {
    url: `sqlite:${path}`,
    id,
    reader: createReader({ records, settings }, lifeByProofs(proofsOf(path))),
    manifests: { list: async (page) => records.manifests(page) },
    settings,
    proofs: proofsOf(path),
    guards: [`${path}-turn`],
    integrity: () =>
      connection
        .read(() => connection.database.prepare("PRAGMA quick_check(20)").all())
        .flatMap(([line]) => (line === "ok" ? [] : [`${path}: ${String(line)}`])),
    server: null,
    close() {
      connection.close();
      removeCopy();
    },
  };
}

/** Null when there is no store yet. `E_CONFIG` when its settings disagree with those stated. */
export async function readSqliteStore(place: string, stated: Partial<Settings>, clock: Clock): Promise<Store | null> {
  await freeClosed();
  const path = resolve(place);
  if (!isMade(path)) return null;
  const { connection, id, settings } = openFound(path, path, MIGRATIONS);
  try {
    assertAgree(settings, stated);
  } catch (error) {
    connection.close();
    throw error;
  }
  return createReadingStore({
    url: `sqlite:${path}`,
    id,
    settings,
    records: recordsOf(connection),
    proofs: proofsOf(path),
    clock,
    look: async (body) =>
      connection.read(() =>
        body({ now: clock(), rows: (sql, values) => connection.database.statement(sql).all(values) }),
      ),
    close: () => connection.close(),
  });
}

/** Throws the error of a lost store for a file that was emptied: a store is never without its tables. */
function isMade(path: string): boolean {
  // mutant: read-emptied: assertNotEmpty(path); →
  assertNotEmpty(path);
  return stateOf(path) === "there";
}

function proofsOf(path: string): string {
  return join(dirname(path), "alive");
}

/** Opens the file at `at`, which may be a copy; errors name `path`. */
function openFound(at: string, path: string, migrations: readonly Migration[], giveUp = () => {}): Found {
  let connection: ReadConnection | null = null;
  try {
    const opened = new ReadConnection(at);
    connection = opened;
    const facts = opened.read(() => factsIn(opened.database, path, newestVersion(migrations)));
    return { connection: opened, ...facts };
  } catch (error) {
    connection?.close();
    giveUp();
    throw error;
  }
}

function factsIn(database: Database, path: string, known: number): StoreFacts {
  const version = schemaOf(database);
  if (version > known)
    throw new HoldfastError("E_FORMAT_UNSUPPORTED", `${path} has schema version ${version}, this is ${known}`);
  if (version < known)
    throw new HoldfastError("E_CONFIG", `${path} has schema version ${version}, this is ${known}`, {
      reason: "outdated_schema",
      next: ["Open the store once, or run `holdfast migrate`: it is brought up to date."],
    });
  const [id, text] = [recorded(database, "store_id"), recorded(database, "settings")];
  if (id === null || text === null) throw new HoldfastError("E_STORE_CORRUPT", `${path} has no id or no settings`);
  return { id, settings: JSON.parse(text) as Settings };
}

/**
 * The path of a copy in a folder of its own. Null when none is needed, because there is no WAL; when the database does not
 * stand still, and so its files change all the time anyway; and where no copy can be made.
 */
function copyAtRest(path: string): string | null {
  if (!isThere(`${path}-wal`)) return null;
  const folder = newFolder();
  if (folder === null) return null;
  const copy = join(folder, "copy.db");
  try {
    for (let tries = 0; tries < COPIES; tries += 1) {
      const before = stampsOf(path);
      copyFileSync(path, copy);
      if (isThere(`${path}-wal`)) copyFileSync(`${path}-wal`, `${copy}-wal`);
      else rmSync(`${copy}-wal`, { force: true });
      if (stampsOf(path) === before) return copy;
    }
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw ioError(error, "read", path);
  }
  rmSync(folder, { recursive: true, force: true });
  return null;
}

function newFolder(): string | null {
  try {
    return mkdtempSync(join(tmpdir(), "holdfast-look-"));
  } catch {
    return null;
  }
}

function stampsOf(path: string): string {
  return [path, `${path}-wal`]
    .map((each) => statSync(each, { throwIfNoEntry: false, bigint: true }))
    .map((stat) => (stat === undefined ? "none" : `${stat.ino} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs}`))
    .join();
}
