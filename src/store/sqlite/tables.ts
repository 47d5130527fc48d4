/** The tables of one connection, each with its statements. */
import { HoldfastError } from "../../base/errors.js";
import { AuditRecords } from "./audit/audit-records.js";
import { AuditTail } from "./audit/audit-tail.js";
import type { Database } from "./connection/database.js";
import { MIGRATIONS, tablesOf } from "./connection/schema.js";
import { Boots } from "./grants/boots.js";
import { Fences } from "./grants/fences.js";
import { GrantList } from "./grants/grant-list.js";
import { GrantRows } from "./grants/grant-rows.js";
import { TicketRows } from "./grants/ticket-rows.js";
import { Trees } from "./grants/trees.js";
import { ManifestRows } from "./publish/manifest-rows.js";

const NAMES = JSON.stringify([...tablesOf(MIGRATIONS)]);

export class Tables {
  readonly boots: Boots;
  readonly trees: Trees;
  readonly fences: Fences;
  readonly grants: GrantRows;
  readonly grantList: GrantList;
  readonly tickets: TicketRows;
  readonly manifests: ManifestRows;
  readonly auditTail: AuditTail;
  readonly auditRecords: AuditRecords;

  /** `E_STORE_CORRUPT` when one is missing. */
  constructor(database: Database) {
    assertComplete(database);
    this.boots = new Boots(database);
    this.trees = new Trees(database);
    this.fences = new Fences(this.trees, this.boots);
    this.grants = new GrantRows(database, this.boots);
    this.grantList = new GrantList(database, this.boots);
    this.tickets = new TicketRows(database);
    this.manifests = new ManifestRows(database, this.trees);
    this.auditTail = new AuditTail(database);
    this.auditRecords = new AuditRecords(database);
  }
}

/** Statements are prepared at their first use: without this a missing table would be noticed in the middle of some work. */
function assertComplete(database: Database): void {
  const missing = database
    .prepare("SELECT value FROM json_each(?) EXCEPT SELECT name FROM sqlite_schema WHERE type = 'table'")
    .get(NAMES)?.[0];
  // mutant: sqlite-tables: if (missing === undefined) return; → if (missing !== "") return;
  if (missing === undefined) return;
  throw new HoldfastError(
    "E_STORE_CORRUPT",
    `${database.path} does not have the tables of a store: ${missing} is missing`,
    { details: { path: database.path, missing } },
  );
}
