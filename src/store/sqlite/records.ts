/**
 * Reads the store without the guard. Rows that belong together are read in one transaction, so that they are of one
 * moment.
 */
import type { Ticket } from "../../lock/grant.js";
import { lineOf } from "../../lock/queue.js";
import type { LedgerRecords } from "../ledger.js";
import type { Database } from "./connection/database.js";
import type { Presence } from "./connection/presence.js";
import type { FoundGrants } from "./grants/grant-rows.js";
import type { Tables } from "./tables.js";

/** `presence`: null for a file that no other process knows of, such as a copy. */
export function createRecords(database: Database, tables: Tables, presence: Presence | null = null): LedgerRecords {
  /** Whoever looks for days must not be shown what was held in a file that is gone. */
  const read = <T>(action: () => T): T => {
    // mutant: sqlite-read-gone: presence?.assertLately(); →
    presence?.assertLately();
    return database.readAtOnce(action);
  };
  return recordsOf({ tables, read });
}

/** Where records are read: `tables` are those of the connection in which `read` runs its action. */
export interface RecordSource {
  readonly tables: Tables;
  read<T>(action: () => T): T;
}

export function recordsOf(source: RecordSource): LedgerRecords {
  const read = <T>(action: () => T): T => source.read(action);
  return {
    near: (key) =>
      read(() => {
        const found: FoundGrants = { grants: new Map(), unreadable: [] };
        const tickets = new Map<string, Ticket>();
        source.tables.grants.findAround(key, found);
        source.tables.tickets.findAround(key, tickets);
        return { grants: [...found.grants.values()], line: lineOf(tickets.values()), unreadable: found.unreadable };
      }),
    lastFence: (tree) => read(() => source.tables.trees.read(tree)?.fence ?? 0),
    list: (page) => read(() => source.tables.grantList.page(page)),
    waiting: (limit) => read(() => source.tables.tickets.all(limit)),
    heads: () => read(() => source.tables.auditRecords.heads()),
    audit: (page) => read(() => source.tables.auditRecords.read(page)),
    manifests: (page) => read(() => source.tables.manifests.page(page)),
    files: (manifest, after, limit) => read(() => source.tables.manifests.files(manifest, after, limit)),
    // mutant: audit-snapshot: read(() => source.tables.auditRecords.check(tree)) → source.tables.auditRecords.check(tree)
    checkChain: (tree) => read(() => source.tables.auditRecords.check(tree)),
  };
}
