/** The only place that knows the stores by name. Each is loaded when it is asked for, so none costs the others. */
import type { Settings } from "../lock/settings.js";
import type { Clock } from "../support/clock.js";
import { HoldfastError } from "../support/errors.js";
import type { ForeignRows, Store } from "./contract.js";
import type { MigrationOptions, MigrationStep } from "./migration.js";

/** `memory:NAME`, `file:DIR`, `sqlite:PATH` or `postgres://…`. `E_CONFIG` for anything else, and when settings disagree. */
export async function openStore(url: string, stated: Partial<Settings>, clock: Clock): Promise<Store> {
  const [, scheme, place = ""] = /^([a-z]+):(.*)$/s.exec(url) ?? [];
  switch (scheme) {
    case "memory": {
      const { openMemoryStore } = await import("./memory/open.js");
      return openMemoryStore(url, stated, clock);
    }
    case "file": {
      const { openFileStore } = await import("./file/open.js");
      return openFileStore(place, stated, clock);
    }
    case "sqlite": {
      const { openSqliteStore } = await import("./sqlite/open.js");
      return openSqliteStore(place, stated, clock);
    }
    case "postgres":
    case "postgresql": {
      const { openPostgresStore } = await import("./postgres/open.js");
      return openPostgresStore(url, stated, clock);
    }
    default:
      throw new HoldfastError("E_CONFIG", `there is no store ${JSON.stringify(url)}`, {
        next: ["Use sqlite:PATH, file:DIR, memory:NAME or postgres://…."],
      });
  }
}

/** Sets up a store that is not set up by opening it, or brings it up to date. Tells the steps; none where opening does it. */
export async function migrateStore(url: string, options: MigrationOptions = {}): Promise<readonly MigrationStep[]> {
  if (!/^postgres(ql)?:/.test(url)) {
    if (options.uninstall !== true) return [];
    throw new HoldfastError("E_CONFIG", `${url} is a place of its own: delete it to uninstall`);
  }
  const { migratePostgres } = await import("./postgres/migrate.js");
  return migratePostgres(url, options);
}

/** A database of the caller's own, apart from any store: `sqlite:PATH`. `E_CONFIG` for anything else. */
export async function openForeignRows(url: string): Promise<ForeignRows> {
  if (!url.startsWith("sqlite:"))
    throw new HoldfastError("E_CONFIG", `${JSON.stringify(url)} is neither the store's database nor an SQLite file`, {
      next: ["Use sqlite:PATH, or leave `database` out to use the store's own."],
    });
  const { openForeignRows: open } = await import("./sqlite/foreign-rows.js");
  return open(url.slice("sqlite:".length));
}
