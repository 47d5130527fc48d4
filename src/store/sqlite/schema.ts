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
  {
    version: 3,
    about: "jobs: caps, projects, flows, jobs, slots, workers",
    sql: `
      CREATE TABLE job_gates (
        name    TEXT PRIMARY KEY,
        cap     INTEGER,
        running INTEGER NOT NULL
      ) WITHOUT ROWID;
      INSERT INTO job_gates VALUES ('global', NULL, 0), ('cpu', NULL, 0), ('io', NULL, 0),
        ('each project', NULL, 0), ('maps of each project', NULL, 0);

      CREATE TABLE job_projects (
        project     TEXT PRIMARY KEY,
        cap         INTEGER,
        map_cap     INTEGER,
        weight      REAL NOT NULL,
        running     INTEGER NOT NULL,
        map_running INTEGER NOT NULL,
        vt          REAL NOT NULL
      ) WITHOUT ROWID;

      CREATE TABLE job_flows (
        flow    INTEGER PRIMARY KEY,
        project TEXT NOT NULL,
        class   TEXT NOT NULL,
        needs   TEXT NOT NULL,
        vt      REAL NOT NULL,
        state   TEXT NOT NULL,
        UNIQUE (project, class, needs)
      );
      CREATE INDEX job_flows_ready ON job_flows (class, needs, vt, flow) WHERE state = 'ready';

      CREATE TABLE jobs (
        job          INTEGER PRIMARY KEY AUTOINCREMENT,
        kind         TEXT NOT NULL,
        project      TEXT NOT NULL,
        map          TEXT,
        class        TEXT NOT NULL,
        needs        TEXT NOT NULL,
        flow         INTEGER NOT NULL,
        is_map       INTEGER NOT NULL,
        priority     INTEGER NOT NULL,
        payload      JSON NOT NULL,
        locks        JSON NOT NULL,
        command      JSON,
        unique_key   TEXT,
        max_attempts INTEGER NOT NULL,
        attempts     INTEGER NOT NULL,
        timeout_ms   INTEGER,
        lock_wait_ms INTEGER NOT NULL,
        state        TEXT NOT NULL,
        run_at       INTEGER NOT NULL,
        wait_key     TEXT,
        wait_since   REAL,
        wait_epoch   TEXT,
        ask_at       REAL,
        ticket       TEXT,
        cancelling   INTEGER NOT NULL,
        progress     JSON,
        result       JSON,
        error        JSON,
        worker       TEXT,
        created_at   INTEGER NOT NULL,
        started_at   INTEGER,
        ended_at     INTEGER
      );
      CREATE INDEX jobs_ready ON jobs (flow, is_map, priority DESC, job) WHERE state = 'ready';
      CREATE INDEX jobs_due ON jobs (run_at, job) WHERE state = 'scheduled';
      CREATE INDEX jobs_waiting ON jobs (ask_at, job) WHERE state = 'waiting';
      CREATE INDEX jobs_behind ON jobs (flow, wait_key, priority DESC, job) WHERE state = 'waiting';
      CREATE UNIQUE INDEX jobs_unique ON jobs (unique_key)
        WHERE unique_key IS NOT NULL AND state IN ('scheduled', 'ready', 'waiting', 'running');
      CREATE INDEX jobs_of_project ON jobs (project, job);
      CREATE INDEX jobs_dead ON jobs (ended_at) WHERE state = 'failed';

      CREATE TABLE job_slots (
        job        INTEGER PRIMARY KEY,
        fence      INTEGER NOT NULL,
        worker     TEXT NOT NULL,
        until_ms   REAL NOT NULL,
        epoch      TEXT NOT NULL,
        lease_ms   INTEGER NOT NULL,
        charged    REAL NOT NULL,
        started_ms REAL NOT NULL,
        grants     JSON NOT NULL,
        token_hash TEXT NOT NULL
      );
      CREATE INDEX job_slots_until ON job_slots (until_ms);

      CREATE TABLE job_kinds (
        kind       TEXT PRIMARY KEY,
        typical_ms REAL NOT NULL
      ) WITHOUT ROWID;

      CREATE TABLE job_workers (
        worker      TEXT PRIMARY KEY,
        node        TEXT NOT NULL,
        has         JSON NOT NULL,
        concurrency INTEGER NOT NULL,
        until_ms    REAL NOT NULL,
        epoch       TEXT NOT NULL
      ) WITHOUT ROWID;

      CREATE TABLE job_needs (
        needs TEXT PRIMARY KEY
      ) WITHOUT ROWID;

      CREATE TABLE job_clock (
        one INTEGER PRIMARY KEY,
        vt  REAL NOT NULL
      );
      INSERT INTO job_clock VALUES (1, 0);
    `,
  },
  {
    version: 4,
    about: "jobs that come again, that a transaction added, and how long ended ones are kept",
    sql: `
      ALTER TABLE jobs ADD COLUMN cron TEXT;
      ALTER TABLE jobs ADD COLUMN time_zone TEXT;
      ALTER TABLE jobs ADD COLUMN schedule INTEGER;
      DROP INDEX jobs_dead;
      CREATE INDEX jobs_ended ON jobs (state, ended_at) WHERE ended_at IS NOT NULL;
      CREATE INDEX jobs_unlisted ON jobs (job) WHERE flow = 0;

      CREATE TABLE job_keep (
        state   TEXT PRIMARY KEY,
        keep_ms INTEGER
      ) WITHOUT ROWID;
      INSERT INTO job_keep VALUES ('done', 604800000), ('cancelled', 604800000), ('failed', 7776000000);
    `,
  },
  {
    version: 5,
    about: "places in line as they are served; whoever waits takes a new one",
    sql: `
      DROP TABLE tickets;
      CREATE TABLE tickets (
        resource  TEXT NOT NULL,
        number    INTEGER NOT NULL DEFAULT 0,
        ticket_id TEXT NOT NULL,
        ticket    JSON NOT NULL,
        PRIMARY KEY (resource, number, ticket_id)
      ) WITHOUT ROWID;
      -- A process of an earlier version that still runs names no number.
      CREATE TRIGGER tickets_by_number AFTER INSERT ON tickets WHEN new.number = 0 AND new.ticket ->> 'n' <> 0 BEGIN
        UPDATE OR REPLACE tickets SET number = new.ticket ->> 'n'
          WHERE resource = new.resource AND number = 0 AND ticket_id = new.ticket_id;
      END;
      UPDATE trees SET waiting = 0;
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
export const TABLES: ReadonlySet<string> = new Set(
  MIGRATIONS.flatMap(({ sql }) => [...sql.matchAll(/CREATE TABLE (\w+)/g)].map(([, name]) => name as string)),
);
