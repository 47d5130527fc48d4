/**
 * The tables, as numbered steps that are run once and only forward.
 *
 * What a step costs is the number of pages it changes. So a step on a top-level key changes two: the leaf of `dal_locks`
 * with the grant, and the leaf of `trees` with the tree's row, which has all that changes with every step, the newest
 * audit entries included. Rows are kept small enough to need no overflow pages. Only grants below the top are in the
 * index by resource; those on a top-level key are found by the beginning of their ids. `audit` has row ids, so that its
 * blocks, a page each, are appended whatever tree they belong to.
 */
import { HoldfastError } from "../../support/errors.js";

export interface Migration {
  readonly version: number;
  readonly about: string;
  readonly sql: string;
}

export const MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    about: "grants, tickets, trees with their fences and newest entries, audit",
    sql: `
      CREATE TABLE settings (
        name  TEXT PRIMARY KEY,
        value TEXT NOT NULL
      ) WITHOUT ROWID;

      CREATE TABLE boots (
        boot       INTEGER PRIMARY KEY,
        boot_id    TEXT NOT NULL,
        machine_id TEXT NOT NULL,
        UNIQUE (boot_id, machine_id)
      );

      CREATE TABLE dal_locks (
        lock_id         TEXT PRIMARY KEY,
        resource        TEXT NOT NULL,
        mode            TEXT NOT NULL,
        owner           TEXT NOT NULL,
        holder_id       TEXT NOT NULL,
        nonce           TEXT NOT NULL,
        proof           JSON NOT NULL,
        token_hash      TEXT NOT NULL,
        fencing_token   INTEGER NOT NULL,
        created_ms      INTEGER NOT NULL,
        heartbeat_ts    TEXT NOT NULL,
        lease_expires   TEXT NOT NULL,
        lease_ms        INTEGER NOT NULL,
        boot            INTEGER NOT NULL,
        renewed_boot_ms REAL NOT NULL,
        renewals        INTEGER NOT NULL,
        metadata        JSON NOT NULL,
        details         JSON
      ) WITHOUT ROWID;
      CREATE INDEX dal_locks_below_the_top ON dal_locks (resource) WHERE instr(resource, '/');

      CREATE TABLE tickets (
        resource  TEXT NOT NULL,
        ticket_id TEXT NOT NULL,
        ticket    JSON NOT NULL,
        PRIMARY KEY (resource, ticket_id)
      ) WITHOUT ROWID;

      CREATE TABLE trees (
        id             INTEGER PRIMARY KEY,
        tree           TEXT NOT NULL UNIQUE,
        fence          INTEGER NOT NULL,
        fence_reserved INTEGER NOT NULL,
        boot           INTEGER NOT NULL,
        held           INTEGER NOT NULL,
        waiting        INTEGER NOT NULL,
        last_ticket    INTEGER NOT NULL,
        audit_seq      INTEGER NOT NULL,
        audit_hash     TEXT NOT NULL,
        tail_seq       INTEGER NOT NULL,
        tail           TEXT NOT NULL
      );

      CREATE TABLE audit (
        tree      TEXT NOT NULL,
        first_seq INTEGER NOT NULL,
        entries   TEXT NOT NULL,
        PRIMARY KEY (tree, first_seq)
      );
    `,
  },
  {
    version: 2,
    about: "manifests of what is published",
    sql: `
      ALTER TABLE trees ADD COLUMN publishing INTEGER NOT NULL DEFAULT 0;

      CREATE TABLE manifests (
        id            TEXT PRIMARY KEY,
        op            TEXT NOT NULL,
        target        TEXT NOT NULL,
        tmp_path      TEXT NOT NULL,
        owner         TEXT NOT NULL,
        resource      TEXT NOT NULL,
        fencing_token INTEGER NOT NULL,
        state         TEXT NOT NULL,
        created_at    TEXT NOT NULL,
        committed_at  TEXT,
        file_count    INTEGER NOT NULL,
        bytes         INTEGER NOT NULL,
        details       JSON NOT NULL
      ) WITHOUT ROWID;
      CREATE INDEX manifests_by_target ON manifests (target);
      CREATE INDEX manifests_pending ON manifests (resource) WHERE state = 'pending';

      CREATE TABLE manifest_files (
        manifest TEXT NOT NULL,
        path     TEXT NOT NULL,
        size     INTEGER NOT NULL,
        sha256   TEXT NOT NULL,
        mode     INTEGER NOT NULL,
        PRIMARY KEY (manifest, path)
      ) WITHOUT ROWID;
    `,
  },
];

export const SCHEMA_VERSION = MIGRATIONS.at(-1)?.version ?? 0;

export function newerSchema(path: string, version: number): HoldfastError {
  return new HoldfastError(
    "E_FORMAT_UNSUPPORTED",
    `${path} has schema version ${version}; this version of holdfast knows ${SCHEMA_VERSION}`,
  );
}

/** The tables of all versions. */
export const TABLES: readonly string[] = MIGRATIONS.flatMap(({ sql }) =>
  [...sql.matchAll(/CREATE TABLE (\w+)/g)].map(([, name]) => name as string),
);
