/**
 * The tables of the database, as numbered migrations that run once and only forward.
 *
 * What a step costs is the number of pages it changes. So a step on a top-level key changes two: the leaf of `dal_locks`
 * with the grant, and the leaf of `trees` with the tree's row, which has all that changes with every step, the newest
 * audit entries included. Rows are kept small enough to need no overflow pages. Only grants below the top are in the
 * index by resource; those on a top-level key are found by the beginning of their ids. `audit` has row ids, so that its
 * blocks, a page each, are appended whatever tree they belong to.
 */

/** Holds the SQL that leads from the version before to this one. */
export interface Migration {
  readonly version: number;
  readonly about: string;
  readonly sql: string;
}

export const MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    about: "grants, tickets, trees with their fences and newest entries, audit, manifests, jobs",
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
        number    INTEGER NOT NULL,
        ticket_id TEXT NOT NULL,
        ticket    JSON NOT NULL,
        PRIMARY KEY (resource, number, ticket_id)
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
        tail           TEXT NOT NULL,
        publishing     INTEGER NOT NULL
      );

      CREATE TABLE audit (
        tree      TEXT NOT NULL,
        first_seq INTEGER NOT NULL,
        entries   TEXT NOT NULL,
        PRIMARY KEY (tree, first_seq)
      );

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
        details       JSON NOT NULL,
        path_key      TEXT
      ) WITHOUT ROWID;
      CREATE INDEX manifests_by_target ON manifests (target);
      CREATE INDEX manifests_pending ON manifests (resource) WHERE state = 'pending';
      CREATE INDEX manifests_pending_path ON manifests (path_key) WHERE state = 'pending';

      CREATE TABLE manifest_files (
        manifest TEXT NOT NULL,
        path     TEXT NOT NULL,
        size     INTEGER NOT NULL,
        sha256   TEXT NOT NULL,
        mode     INTEGER NOT NULL,
        PRIMARY KEY (manifest, path)
      ) WITHOUT ROWID;

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
        job            INTEGER PRIMARY KEY AUTOINCREMENT,
        kind           TEXT NOT NULL,
        project        TEXT NOT NULL,
        map            TEXT,
        class          TEXT NOT NULL,
        needs          TEXT NOT NULL,
        flow           INTEGER NOT NULL,
        is_map         INTEGER NOT NULL,
        priority       INTEGER NOT NULL,
        payload        JSON NOT NULL,
        locks          JSON NOT NULL,
        command        JSON,
        unique_key     TEXT,
        max_attempts   INTEGER NOT NULL,
        attempts       INTEGER NOT NULL,
        timeout_ms     INTEGER,
        lock_wait_ms   INTEGER NOT NULL,
        state          TEXT NOT NULL,
        run_at         INTEGER NOT NULL,
        wait_key       TEXT,
        wait_since     REAL,
        wait_epoch     TEXT,
        ask_at         REAL,
        ticket         TEXT,
        cancelling     INTEGER NOT NULL,
        progress       JSON,
        result         JSON,
        error          JSON,
        worker         TEXT,
        created_at     INTEGER NOT NULL,
        started_at     INTEGER,
        ended_at       INTEGER,
        cron           TEXT,
        time_zone      TEXT,
        schedule       INTEGER,
        own_class      TEXT,
        own_locks      JSON NOT NULL,
        own_attempts   INTEGER NOT NULL,
        own_timeout_ms INTEGER,
        given_locks    JSON,
        asked_of       TEXT
      );
      CREATE INDEX jobs_ready ON jobs (flow, is_map, priority DESC, job) WHERE state = 'ready';
      CREATE INDEX jobs_due ON jobs (run_at, job) WHERE state = 'scheduled';
      CREATE INDEX jobs_waiting ON jobs (ask_at, job) WHERE state = 'waiting';
      CREATE INDEX jobs_behind ON jobs (flow, wait_key, priority DESC, job) WHERE state = 'waiting';
      CREATE UNIQUE INDEX jobs_unique ON jobs (unique_key)
        WHERE unique_key IS NOT NULL AND state IN ('scheduled', 'ready', 'waiting', 'running');
      CREATE INDEX jobs_of_project ON jobs (project, job);
      CREATE INDEX jobs_ended ON jobs (state, ended_at) WHERE ended_at IS NOT NULL;
      CREATE INDEX jobs_unlisted ON jobs (job) WHERE flow = 0;
      CREATE INDEX jobs_asked ON jobs (asked_of, job) WHERE asked_of IS NOT NULL;

      CREATE TABLE job_slots (
        job        INTEGER PRIMARY KEY,
        fence      INTEGER NOT NULL,
        worker     TEXT NOT NULL,
        until_ms   REAL NOT NULL,
        epoch      TEXT NOT NULL,
        lease_ms   INTEGER NOT NULL,
        charged    REAL NOT NULL,
        started_ms REAL NOT NULL,
        grants     JSON NOT NULL
      );
      CREATE INDEX job_slots_until ON job_slots (until_ms);

      CREATE TABLE job_kinds (
        kind         TEXT PRIMARY KEY,
        typical_ms   REAL,
        definitions  JSON,
        class        TEXT,
        max_attempts INTEGER,
        timeout_ms   INTEGER,
        has_locks    INTEGER
      ) WITHOUT ROWID;

      CREATE TABLE job_workers (
        worker      TEXT PRIMARY KEY,
        node        TEXT NOT NULL,
        has         JSON NOT NULL,
        concurrency INTEGER NOT NULL,
        until_ms    REAL NOT NULL,
        epoch       TEXT NOT NULL,
        kinds       JSON NOT NULL
      ) WITHOUT ROWID;

      CREATE TABLE job_needs (
        needs TEXT PRIMARY KEY
      ) WITHOUT ROWID;

      CREATE TABLE job_clock (
        one INTEGER PRIMARY KEY,
        vt  REAL NOT NULL
      );
      INSERT INTO job_clock VALUES (1, 0);

      CREATE TABLE job_keep (
        state   TEXT PRIMARY KEY,
        keep_ms INTEGER
      ) WITHOUT ROWID;
      INSERT INTO job_keep VALUES ('done', 604800000), ('cancelled', 604800000), ('failed', 7776000000);
    `,
  },
];

/** Returns the version that a program with these migrations writes. */
export function newestVersion(migrations: readonly Migration[]): number {
  return migrations.at(-1)?.version ?? 0;
}

/** Returns the migrations that a database of this version has not had. */
export function missingMigrations(migrations: readonly Migration[], version: number): readonly Migration[] {
  return migrations.filter((migration) => migration.version > version);
}

/** Returns the names of the tables that these migrations create. */
export function tablesOf(migrations: readonly Migration[]): ReadonlySet<string> {
  return new Set(
    migrations.flatMap(({ sql }) => [...sql.matchAll(/CREATE TABLE (\w+)/g)].map(([, name]) => name as string)),
  );
}
