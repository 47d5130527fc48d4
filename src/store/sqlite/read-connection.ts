/**
 * Reads a database that others may be writing, and writes nothing beside SQLite's own `-shm`.
 *
 *   there is a WAL                              read beside the writers; SQLite uses its -shm, or makes it
 *   there is none, or an empty one and          the database file has everything: it is read alone (immutable=1), which
 *   this user cannot make the -shm              takes no lock and makes no file
 *   there is one with content, and this user    `E_IO`
 *   cannot make the -shm
 *
 * What is read alone counts only if neither the database nor the WAL has changed since before it was opened. If one has, it
 * is opened and read again; so `action` may run more than once.
 *
 * It does not see a change within one tick of the file system's clock; so a file that has just changed counts as changing.
 */
import { accessSync, constants } from "node:fs";
import { HoldfastError, ioError, isHoldfastError } from "../../base/errors.js";
import { ageOfFile } from "../../platform/clock.js";
import { isThere, lookUp } from "../../platform/look-up.js";
import { Database } from "./connection/database.js";
import { Presence } from "./connection/presence.js";
import { Tables } from "./tables.js";

const TRIES = 50;
const PAUSE_MS = 5;
/** Longer than a tick of any clock by which a file system stamps its files; and where it counts whole seconds. */
const TICK_MS = 15;
const COARSE_TICK_MS = 2_000;

interface Opened {
  readonly database: Database;
  /** What the files looked like before a reading alone; null beside writers. */
  readonly stamps: string | null;
}

export class ReadConnection {
  readonly path: string;
  readonly #presence: Presence;
  #opened: Opened | null = null;
  /** Prepared when they are first read: a newer database may not have them. */
  #tables: Tables | null = null;

  /** `E_IO` where this user may not read it. */
  constructor(path: string) {
    this.path = path;
    for (const file of [path, `${path}-wal`]) requireReadable(file);
    this.#presence = new Presence(path);
  }

  /** The tables of the connection that `read` has opened. */
  get tables(): Tables {
    this.#tables ??= new Tables(this.#current.database);
    return this.#tables;
  }

  get database(): Database {
    return this.#current.database;
  }

  get #current(): Opened {
    this.#opened ??= openToRead(this.path);
    return this.#opened;
  }

  /** Everything `action` reads is of one moment. `E_IO`, `E_STORE_UNAVAILABLE` */
  read<T>(action: () => T): T {
    // mutant: sqlite-read-gone-alone: this.#presence.assert(); →
    this.#presence.assert();
    for (let tries = 1; ; tries += 1) {
      const done = this.#tryToRead(action);
      if (done !== null) return done.value;
      this.close();
      if (tries >= TRIES) throw restless(this.path);
      pauseThread();
    }
  }

  /** Null when what was read may be of several moments. */
  #tryToRead<T>(action: () => T): { readonly value: T } | null {
    const { database, stamps } = this.#current;
    // mutant: sqlite-read-alone: stamps === null || stamps === stampsOf(this.path) → stamps !== ""
    const isWhole = (): boolean => stamps === null || stamps === stampsOf(this.path);
    try {
      const value = database.readAtOnce(action);
      return isWhole() ? { value } : null;
    } catch (error) {
      if (isWhole()) throw error;
      return null;
    }
  }

  close(): void {
    this.#opened?.database.close();
    this.#opened = null;
    this.#tables = null;
  }
}

function openToRead(path: string): Opened {
  if (isThere(`${path}-wal`)) {
    try {
      return opened(new Database(path, { reading: "beside writers" }), null);
    } catch (error) {
      if (!isHoldfastError(error, "E_IO")) throw error;
      if ((lookUp(`${path}-wal`)?.size ?? 0) > 0) throw noIndex(error, path);
    }
  }
  const stamps = stampsOf(path);
  return opened(new Database(path, { reading: "alone" }), stamps);
}

function opened(database: Database, stamps: string | null): Opened {
  try {
    database.prepare("PRAGMA user_version").get();
    return { database, stamps };
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Two that are equal say that nothing has changed in between; a file that may be changing is equal to nothing. */
function stampsOf(path: string): string {
  const stats = lookUp(path);
  const wal = lookUp(`${path}-wal`)?.size ?? 0;
  if (stats === null || wal > 0) return `changing ${performance.now()}`;
  const { ino, dev, size, mtimeMs, ctimeMs } = stats;
  const tick = mtimeMs % 1_000 === 0 ? COARSE_TICK_MS : TICK_MS;
  return ageOfFile(mtimeMs) > tick ? [dev, ino, size, mtimeMs, ctimeMs].join(" ") : `changing ${performance.now()}`;
}

function requireReadable(path: string): void {
  if (!isThere(path)) return;
  try {
    accessSync(path, constants.R_OK);
  } catch (error) {
    throw ioError(error, "read", path);
  }
}

function noIndex(cause: HoldfastError, path: string): HoldfastError {
  return new HoldfastError("E_IO", `cannot read ${path}: its WAL needs ${path}-shm, which this user cannot make`, {
    cause,
    details: { path: `${path}-shm`, errno: cause.details.errno },
    next: ["Run any command that writes there as a user who may, such as `holdfast doctor --repair`."],
  });
}

function restless(path: string): HoldfastError {
  return new HoldfastError("E_STORE_UNAVAILABLE", `${path} kept changing while it was read`, { reason: "busy" });
}

function pauseThread(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
}
