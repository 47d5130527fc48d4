/** `sqlite:PATH`: one database file on a local disk, with its proofs of life in `alive/` beside it. */
import { existsSync, mkdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Settings } from "../../lock/settings.js";
import type { Clock } from "../../support/clock.js";
import { HoldfastError, ioError } from "../../support/errors.js";
import { assertLocalFileSystem, probeFileSystem } from "../../support/file-system.js";
import { enterAll, openGuard } from "../../support/guard.js";
import type { Store } from "../contract.js";
import { createLocalStore } from "../local-store.js";
import { openProofFolder } from "../surroundings.js";
import { Database } from "./database.js";
import { SqliteLedger } from "./ledger.js";
import { migrate } from "./migrate.js";

export async function openSqliteStore(place: string, stated: Partial<Settings>, clock: Clock): Promise<Store> {
  if (place === "") throw new HoldfastError("E_CONFIG", "sqlite: needs a path", { next: ["Write sqlite:PATH."] });
  const path = resolve(place);
  const folder = dirname(path);
  prepareFolder(folder, !existsSync(path));

  const turnstile = openGuard(`${path}-turn`);
  await enterAll([turnstile], path);
  try {
    const database = new Database(path);
    try {
      database.configure();
      const settings = migrate(database, stated);
      const ledger = new SqliteLedger(`sqlite:${path}`, database, turnstile, settings, clock);
      return createLocalStore(ledger, openProofFolder(join(folder, "alive"), settings));
    } catch (error) {
      database.close();
      throw error;
    }
  } finally {
    turnstile.leave();
  }
}

function prepareFolder(folder: string, isNew: boolean): void {
  try {
    mkdirSync(folder, { recursive: true });
  } catch (error) {
    throw ioError(error, "create", folder);
  }
  assertLocalFileSystem(folder);
  if (isNew) probeFileSystem(folder);
}
