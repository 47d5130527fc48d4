/**
 * Makes a database with all its tables, under a name of its own, and links it to its path whole. Call it inside the
 * turnstile.
 *
 *   1. remove what is left under private names, and a WAL that belongs to no database
 *   2. make the database in memory, write it to PATH-new-<id>, sync it     a crash leaves a part of it: removed at the next 1
 *   3. link it to PATH, sync the folder                                    a crash leaves it under two names, which is whole
 *   4. remove the private name
 *
 * So a database that is empty was emptied, and is refused as a lost store, where its turnstile and proofs of life, or a
 * WAL, show that it was one. An empty file without these was made by another program: the new database takes its place. A
 * crash in that case leaves the empty file with a turnstile; where proofs of life of another store lie in the same folder,
 * it is refused from then on, and the message says so.
 */
import { randomUUID } from "node:crypto";
import { closeSync, fsyncSync, linkSync, openSync, renameSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { ioError } from "../../base/errors.js";
import { lostStore } from "../../base/lost-store.js";
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

/** The error of a lost store, where an empty file was a database. Call it before there is a turnstile. */
export function assertNeverUsed(path: string): void {
  const isThere = (companion: string): boolean => stateOf(companion) !== "missing";
  if (isThere(`${path}-wal`) || (isThere(`${path}-turn`) && isThere(join(dirname(path), "alive"))))
    // mutant: sqlite-emptied: throw lostStore( → if (path === "") throw lostStore(
    throw lostStore(`sqlite:${path}`, "emptied");
}

/** Where there is no database, or an empty file that never was one. `makeTables` records the id too. */
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
  if (stateOf(path) === "empty") renameSync(own, path);
  else {
    linkUnlessThere(own, path);
    removeQuietly(own);
  }
  syncFolder(dirname(path));
}

/** Without its turnstile, which a person may have deleted, two processes may be here. */
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
