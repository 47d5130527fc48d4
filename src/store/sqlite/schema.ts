/** The tables, as numbered steps that are run once and only forward. */

export interface Migration {
  readonly version: number;
  readonly about: string;
  readonly sql: string;
}

export const MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    about: "grants, tickets, trees with their fences and chain heads, audit",
    sql: `
      CREATE TABLE settings (
        name  TEXT PRIMARY KEY,
        value TEXT NOT NULL
      ) WITHOUT ROWID;

      CREATE TABLE dal_locks (
        lock_id          TEXT PRIMARY KEY,
        resource         TEXT NOT NULL,
        mode             TEXT NOT NULL,
        owner            TEXT NOT NULL,
        holder_id        TEXT NOT NULL,
        nonce            TEXT NOT NULL,
        created_at       TEXT NOT NULL,
        heartbeat_ts     TEXT NOT NULL,
        lease_expires    TEXT NOT NULL,
        lease_duration_s REAL NOT NULL,
        fencing_token    INTEGER NOT NULL,
        token_hash       TEXT NOT NULL,
        metadata         JSON NOT NULL,
        details          JSON NOT NULL
      ) WITHOUT ROWID;
      CREATE INDEX dal_locks_by_resource ON dal_locks (resource);

      CREATE TABLE tickets (
        resource  TEXT NOT NULL,
        ticket_id TEXT NOT NULL,
        number    INTEGER NOT NULL,
        ticket    JSON NOT NULL,
        PRIMARY KEY (resource, ticket_id)
      ) WITHOUT ROWID;
      CREATE INDEX tickets_by_number ON tickets (number);

      CREATE TABLE trees (
        tree           TEXT PRIMARY KEY,
        fence          INTEGER NOT NULL,
        fence_reserved INTEGER NOT NULL,
        boot_id        TEXT NOT NULL,
        held           INTEGER NOT NULL,
        waiting        INTEGER NOT NULL,
        audit_seq      INTEGER NOT NULL,
        audit_hash     TEXT NOT NULL
      ) WITHOUT ROWID;

      CREATE TABLE audit (
        tree  TEXT NOT NULL,
        seq   INTEGER NOT NULL,
        entry JSON NOT NULL,
        PRIMARY KEY (tree, seq)
      ) WITHOUT ROWID;
    `,
  },
];

export const SCHEMA_VERSION = MIGRATIONS.at(-1)?.version ?? 0;
