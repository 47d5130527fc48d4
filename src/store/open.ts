/**
 * Opens a store by its URL. This is the only module that knows the drivers by name. Each driver is loaded when it is
 * requested, so none costs the others.
 */

import { HoldfastError } from "../base/errors.js";
import { withoutPassword } from "../base/without-password.js";
import type { Settings } from "../lock/settings.js";
import type { Clock } from "../platform/clock.js";
import type { Examination, ForeignRows, Installation, Store } from "./contract.js";

/**
 * `memory:NAME`, `file:DIR`, `sqlite:PATH` or `postgres://…`. `E_CONFIG` for anything else, and when settings disagree.
 * With `expectedId` the store must be there already and have that id: otherwise it is a lost store (`isLostStore`), and
 * nothing is created or changed.
 */
export async function openStore(
  url: string,
  stated: Partial<Settings>,
  clock: Clock,
  expectedId?: string,
): Promise<Store> {
  const [, scheme, place = ""] = /^([a-z]+):(.*)$/s.exec(url) ?? [];
  switch (scheme) {
    case "memory": {
      const { openMemoryStore } = await import("./memory/open.js");
      return openMemoryStore(url, stated, clock, expectedId);
    }
    case "file": {
      const { openFileStore } = await import("./file/open.js");
      return openFileStore(place, stated, clock, expectedId);
    }
    case "sqlite": {
      const { openSqliteStore } = await import("./sqlite/open.js");
      return openSqliteStore(place, stated, clock, { expectedId });
    }
    case "postgres":
    case "postgresql": {
      const { openPostgresStore } = await import("./postgres/open.js");
      return openPostgresStore(url, stated, clock, expectedId);
    }
    default:
      throw noSuchStore(url);
  }
}

/** A database of the caller's own, apart from any store: `sqlite:PATH` or `postgres://…`. `E_CONFIG` for anything else. */
export async function openForeignRows(url: string): Promise<ForeignRows> {
  if (/^postgres(ql)?:/.test(url)) {
    const { openForeignRows: open } = await import("./postgres/dal/foreign-rows.js");
    return open(url);
  }
  if (!url.startsWith("sqlite:"))
    throw new HoldfastError("E_CONFIG", `${JSON.stringify(withoutPassword(url))} is no database for this`, {
      reason: "invalid_store_url",
      next: ["Use sqlite:PATH or postgres://…, or leave `database` out to use the store's own."],
    });
  const [{ openForeignRows: open }, { freeClosed }] = await Promise.all([
    import("./sqlite/dal/foreign-rows.js"),
    import("./sqlite/connection/closed-connections.js"),
  ]);
  await freeClosed();
  return open(url.slice("sqlite:".length));
}

/** The same store, seen from outside. `E_CONFIG` for one that has nothing to install. */
export async function openInstallation(url: string): Promise<Installation> {
  const [, scheme, place = ""] = /^([a-z]+):(.*)$/s.exec(url) ?? [];
  switch (scheme) {
    case "file": {
      const { createFileInstallation } = await import("./file/installation.js");
      return createFileInstallation(place);
    }
    case "sqlite": {
      const { createSqliteInstallation } = await import("./sqlite/installation.js");
      return createSqliteInstallation(place);
    }
    case "postgres":
    case "postgresql": {
      const { createPostgresInstallation } = await import("./postgres/migrate.js");
      return createPostgresInstallation(url);
    }
    default:
      throw noSuchStore(url);
  }
}

function noSuchStore(url: string): HoldfastError {
  return new HoldfastError("E_CONFIG", `there is no store ${JSON.stringify(withoutPassword(url))}`, {
    reason: "invalid_store_url",
    next: ["Use sqlite:PATH, file:DIR, memory:NAME or postgres://…."],
  });
}

/**
 * Looks at a store without changing anything about it. Null when there is none yet, or only in a process.
 * `E_FORMAT_UNSUPPORTED`, `E_STORE_CORRUPT`, `E_STORE_UNAVAILABLE`, `E_IO`
 */
export async function examineStore(url: string): Promise<Examination | null> {
  const [, scheme, place = ""] = /^([a-z]+):(.*)$/s.exec(url) ?? [];
  switch (scheme) {
    case "file": {
      const { examineFileStore } = await import("./file/examine.js");
      return examineFileStore(place);
    }
    case "sqlite": {
      const { examineSqliteStore } = await import("./sqlite/examine.js");
      return examineSqliteStore(place);
    }
    case "postgres":
    case "postgresql": {
      const { examinePostgresStore } = await import("./postgres/examine.js");
      return examinePostgresStore(url);
    }
    default:
      return null;
  }
}

/**
 * Returns the id of the store at a URL, or null where there is none. Creates and changes nothing. `E_IO` and
 * `E_STORE_UNAVAILABLE` when it cannot tell, `E_CONFIG` for a URL that names no store.
 */
export async function identifyStore(url: string): Promise<string | null> {
  const [, scheme, place = ""] = /^([a-z]+):(.*)$/s.exec(url) ?? [];
  switch (scheme) {
    case "memory": {
      const { identifyMemoryStore } = await import("./memory/open.js");
      return identifyMemoryStore(url);
    }
    case "file": {
      const { identifyFileStore } = await import("./file/store-record.js");
      return identifyFileStore(place);
    }
    case "sqlite": {
      const { identifySqliteStore } = await import("./sqlite/identify.js");
      return identifySqliteStore(place);
    }
    case "postgres":
    case "postgresql": {
      const { identifyPostgresStore } = await import("./postgres/open.js");
      return identifyPostgresStore(url);
    }
    default:
      throw noSuchStore(url);
  }
}

/**
 * Opens a store for commands that only read: nothing is created, migrated or repaired, and every step is refused. Null when
 * there is none yet. A server keeps its own rights, so its store is opened as always. `E_IO` and what `openStore` throws.
 */
export async function openStoreForReading(url: string, stated: Partial<Settings>, clock: Clock): Promise<Store | null> {
  const [, scheme, place = ""] = /^([a-z]+):(.*)$/s.exec(url) ?? [];
  switch (scheme) {
    case "file": {
      const { readFileStore } = await import("./file/examine.js");
      return readFileStore(place, stated, clock);
    }
    case "sqlite": {
      const { readSqliteStore } = await import("./sqlite/examine.js");
      return readSqliteStore(place, stated, clock);
    }
    default:
      return openStore(url, stated, clock);
  }
}
