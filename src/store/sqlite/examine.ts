/**
 * Examines a database for the doctor, without touching it. Any connection to a database in WAL mode writes beside it,
 * even one that only reads; so this reads a copy of the database and its WAL, elsewhere. When both stood still while
 * they were copied, the copy is of one moment. In a store that never stands still files change all the time anyway:
 * then the original is read.
 */
import { copyFileSync, existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { HoldfastError, ioError } from "../../base/errors.js";
import type { Settings } from "../../lock/settings.js";
import type { Examination } from "../contract.js";
import { createReader } from "../local/local-store.js";
import { Database } from "./connection/database.js";
import { recorded, type StoreFacts, schemaOf } from "./connection/migrate.js";
import { MIGRATIONS, type Migration, newestVersion } from "./connection/schema.js";
import { createRecords } from "./records.js";
import { Tables } from "./tables.js";

const COPIES = 20;

export function examineSqliteStore(place: string, migrations: readonly Migration[] = MIGRATIONS): Examination | null {
  const path = resolve(place);
  if (!existsSync(path)) return null;
  // mutant: doctor-touches: = copyAtRest(path); → : string | null = copyAtRest(path) === null ? path : null;
  const copy = copyAtRest(path);
  let database: Database | undefined;
  const close = (): void => {
    database?.close();
    if (copy !== null) rmSync(dirname(copy), { recursive: true, force: true });
  };
  try {
    database = new Database(copy ?? path);
    const { id, settings } = factsIn(database, path, newestVersion(migrations));
    const records = createRecords(database, new Tables(database));
    const check = database.prepare("PRAGMA quick_check(20)");
    return {
      url: `sqlite:${path}`,
      id,
      reader: createReader({ records, settings }),
      manifests: { list: async (page) => records.manifests(page) },
      settings,
      proofs: join(dirname(path), "alive"),
      guards: [`${path}-turn`],
      integrity: () => check.all().flatMap(([line]) => (line === "ok" ? [] : [`${path}: ${String(line)}`])),
      server: null,
      close,
    };
  } catch (error) {
    close();
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

/** The path of a copy in a folder of its own, or null when the database does not stand still. */
function copyAtRest(path: string): string | null {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-look-"));
  const copy = join(folder, "copy.db");
  try {
    for (let tries = 0; tries < COPIES; tries += 1) {
      const before = stampsOf(path);
      copyFileSync(path, copy);
      if (existsSync(`${path}-wal`)) copyFileSync(`${path}-wal`, `${copy}-wal`);
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

function stampsOf(path: string): string {
  return [path, `${path}-wal`]
    .map((each) => statSync(each, { throwIfNoEntry: false, bigint: true }))
    .map((stat) => (stat === undefined ? "none" : `${stat.ino} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs}`))
    .join();
}
