/**
 * Finds out which store a database file is. The id is in the file from its first moment on (make.ts). So where there is no
 * WAL, the file alone is read, and none is made beside it. Where there is one, it is read as well, and SQLite may make its
 * `-shm`.
 */
import { resolve } from "node:path";
import { isHoldfastError } from "../../base/errors.js";
import { lostStore } from "../../base/lost-store.js";
import { freeClosed } from "./connection/closed-connections.js";
import { Database } from "./connection/database.js";
import { recorded } from "./connection/migrate.js";
import { stateOf } from "./make.js";

/** Returns null where there is no database, or one without a store. Creates and changes nothing. `E_IO` */
export async function identifySqliteStore(place: string): Promise<string | null> {
  await freeClosed();
  return idAt(resolve(place));
}

function idAt(path: string): string | null {
  if (stateOf(path) !== "there") return null;
  const database = new Database(path, { reading: stateOf(`${path}-wal`) === "missing" ? "alone" : "beside writers" });
  try {
    return idIn(database);
  } finally {
    database.close();
  }
}

/** The error of a lost store where the file is not the database that has this id. Creates and changes nothing. */
export function assertExpected(path: string, expectedId: string): void {
  const state = stateOf(path);
  if (state !== "there") throw lostStore(`sqlite:${path}`, state === "empty" ? "emptied" : "missing", expectedId);
  assertId(idAt(path), path, expectedId);
}

/** The same for a database that is open. */
export function assertMeant(database: Database, expectedId: string): void {
  assertId(idIn(database), database.path, expectedId);
}

function assertId(found: string | null, path: string, expectedId: string): void {
  const url = `sqlite:${path}`;
  if (found === null) throw lostStore(url, "emptied", expectedId);
  // mutant: sqlite-expected: if (found !== expectedId) throw → if (found === "") throw
  if (found !== expectedId) throw lostStore(url, "replaced", expectedId, found);
}

/** Null where there is no table of settings, as in a database of another program. */
function idIn(database: Pick<Database, "prepare">): string | null {
  try {
    return recorded(database, "store_id");
  } catch (error) {
    if (isHoldfastError(error, "E_STORE_CORRUPT") && error.details.missing !== undefined) return null;
    throw error;
  }
}
