/** The tables of one connection, each with its statements. */
import { AuditRecords } from "./audit-records.js";
import { AuditTail } from "./audit-tail.js";
import { Boots } from "./boots.js";
import type { Database } from "./database.js";
import { Fences } from "./fences.js";
import { GrantList } from "./grant-list.js";
import { GrantRows } from "./grant-rows.js";
import { ManifestRows } from "./manifest-rows.js";
import { TicketRows } from "./ticket-rows.js";
import { Trees } from "./trees.js";

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
