/** The tables of one connection, each with its prepared statements. */
import { AuditRecords } from "./audit/audit-records.js";
import { AuditTail } from "./audit/audit-tail.js";
import type { Database } from "./connection/database.js";
import { Boots } from "./grants/boots.js";
import { Fences } from "./grants/fences.js";
import { GrantList } from "./grants/grant-list.js";
import { GrantRows } from "./grants/grant-rows.js";
import { TicketRows } from "./grants/ticket-rows.js";
import { Trees } from "./grants/trees.js";
import { ManifestRows } from "./publish/manifest-rows.js";

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

  constructor(database: Database) {
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
