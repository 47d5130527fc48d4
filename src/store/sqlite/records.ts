/** Reading without the guard. What belongs together is read in one transaction, so that it is of one moment. */
import type { Ticket } from "../../lock/grant.js";
import { lineOf } from "../../lock/line.js";
import type { LedgerRecords } from "../ledger.js";
import type { Database } from "./database.js";
import type { FoundGrants } from "./grant-rows.js";
import type { Tables } from "./tables.js";

export function createRecords(database: Database, tables: Tables): LedgerRecords {
  return {
    near: (key) =>
      database.readAtOnce(() => {
        const found: FoundGrants = { grants: new Map(), unreadable: [] };
        const tickets = new Map<string, Ticket>();
        tables.grants.findAround(key, found);
        tables.tickets.findAround(key, tickets);
        return { grants: [...found.grants.values()], line: lineOf(tickets.values()), unreadable: found.unreadable };
      }),
    lastFence: (tree) => database.readAtOnce(() => tables.trees.read(tree)?.fence ?? 0),
    list: (page) => database.readAtOnce(() => tables.grantList.page(page)),
    heads: () => database.readAtOnce(() => tables.auditRecords.heads()),
    audit: (page) => database.readAtOnce(() => tables.auditRecords.read(page)),
    manifests: (page) => database.readAtOnce(() => tables.manifests.page(page)),
    files: (manifest, after, limit) => database.readAtOnce(() => tables.manifests.files(manifest, after, limit)),
    checkChain: (tree) => database.readAtOnce(() => tables.auditRecords.check(tree)),
  };
}
