/**
 * Makes a database with all its tables, under a name of its own, and links it to its path whole. Call it inside the
 * turnstile.
 *
 *   1. remove what is left under private names, and a WAL that belongs to no database
 *   2. make the database in memory, write it to PATH-new-<id>, sync it     a crash leaves a part of it: removed at the next 1
 *   3. link it to PATH, sync the folder                                    a crash leaves it under two names, which is whole
 *   4. remove the private name
 *
 * So a file that is empty was emptied or never was a database, which nothing can tell apart: it is refused as a lost store
 * and left as it is.
 */
import { randomUUID } from "node:crypto";
import { closeSync, fsyncSync, linkSync, openSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { ioError } from "../../base/errors.js";
import { emptyStore } from "../../base/lost-store.js";
import { removeFile, removeQuietly, syncFolder } from "../../files/durable-file.js";
import { READ_AND_WRITE, takeRights } from "../../platform/folder-rights.js";
import { namesIn } from "../../platform/look-up.js";
import { Database } from "./connection/database.js";

export type FileState = "missing" | "empty" | "there";

/** `E_IO` when it cannot be seen. */
export function stateOf(path: string): FileState {
  try {
    const stat = statSync(path, { throwIfNoEntry: false });
    return stat === undefined ? "missing" : stat.size === 0 ? "empty" : "there";
  } catch (error) {
    throw ioError(error, "look at", path);
  }
}

/** The error of a lost store, where there is an empty file. */
export function assertNotEmpty(path: string): void {
  // mutant: sqlite-emptied: if (stateOf(path) === "empty") throw → if (path === "") throw
  if (stateOf(path) === "empty") throw emptyStore(`sqlite:${path}`, path);
}

/** Where there is no database. `makeTables` records the id too. */
export function makeDatabase(path: string, makeTables: (database: Database) => void): void {
  const own = `${path}-new-${randomUUID()}`;
  sweep(path);
  for (const end of ["-wal", "-shm", "-journal"]) removeFile(`${path}${end}`);
  try {
    const database = new Database(":memory:", { creates: true });
    try {
      makeTables(database);
      database.prepare("VACUUM INTO ?").get(own);
    } finally {
      database.close();
    }
    putInPlace(own, path);
  } catch (error) {
    removeQuietly(own);
    throw ioError(error, "create", path);
  }
}

function putInPlace(own: string, path: string): void {
  const fd = openSync(own, "r+");
  try {
    // SQLite gives the files beside the database the mode and the owner of the database.
    takeRights(fd, own, READ_AND_WRITE);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  linkUnlessThere(own, path);
  removeQuietly(own);
  syncFolder(dirname(path));
}

/** Two processes may be here when a person has deleted the turnstile; or another program has made a file. */
function linkUnlessThere(own: string, path: string): void {
  try {
    linkSync(own, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

function sweep(path: string): void {
  const start = `${basename(path)}-new-`;
  for (const name of namesIn(dirname(path))) if (name.startsWith(start)) removeQuietly(join(dirname(path), name));
}
