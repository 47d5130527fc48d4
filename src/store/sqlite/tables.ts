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
  readonly auditTail: AuditTail;
  readonly #database: Database;
  #grantList: GrantList | null = null;
  #tickets: TicketRows | null = null;
  #manifests: ManifestRows | null = null;
  #auditRecords: AuditRecords | null = null;

  /** `E_STORE_CORRUPT` when one is missing. */
  constructor(database: Database) {
    assertComplete(database);
    this.#database = database;
    this.boots = new Boots(database);
    this.trees = new Trees(database);
    this.fences = new Fences(this.trees, this.boots);
    this.grants = new GrantRows(database, this.boots);
    this.auditTail = new AuditTail(database);
  }

  // A lock that is free needs none of these.

  get grantList(): GrantList {
    this.#grantList ??= new GrantList(this.#database, this.boots);
    return this.#grantList;
  }

  get tickets(): TicketRows {
    this.#tickets ??= new TicketRows(this.#database);
    return this.#tickets;
  }

  get manifests(): ManifestRows {
    this.#manifests ??= new ManifestRows(this.#database, this.trees);
    return this.#manifests;
  }

  get auditRecords(): AuditRecords {
    this.#auditRecords ??= new AuditRecords(this.#database);
    return this.#auditRecords;
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
