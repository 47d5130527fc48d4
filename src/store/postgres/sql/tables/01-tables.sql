-- The tables of locks, version 1. Only their owner may touch them: all others call the functions.
--
-- Times are milliseconds of the server's clock, read after the guard is held. Keys are compared byte by byte.
-- A grant is found by its key, and those below a key are a range of the same index, so there is one index and no more.
-- `login` is the session_user that a grant or a place in the queue was given to; SET ROLE does not change it.

create schema holdfast;

-- One row: which store this is, and what everybody who uses it agrees on. The settings come with the first opening.
-- `workspace` is the id of the first workspace that recorded the store. `fence_skew_ms`: by how much the clocks of the
-- servers that may take over from each other differ at most; the owner of the schema changes it with an update.
create table holdfast.store (
  singleton boolean primary key default true check (singleton),
  schema_version integer not null,
  functions_hash text not null default '',
  store_id uuid,
  workspace text,
  levels text[],
  profile_prefixes text[],
  profile_names text[],
  fence_skew_ms integer not null default 10000 check (fence_skew_ms >= 0)
);

-- The guard: a row for every top-level segment ever locked. Whoever changes anything in the tree holds its row lock.
-- With it go the fence counter and the head of the audit chain, which change with every step too. `publishing` counts the
-- manifests that are pending in the tree, by either of their keys, so that a step in a tree without them does not look for any.
create table holdfast.trees (
  tree text collate "C" primary key,
  fence bigint not null default 0,
  epoch text not null default '',
  audit_seq bigint not null default 0,
  audit_hash text not null default repeat('0', 64),
  publishing integer not null default 0
) with (fillfactor = 40);

create type holdfast.want as (resource text, mode text, permits integer);

create table holdfast.grants (
  resource text collate "C" not null,
  lock_id text collate "C" not null,
  schema_version integer not null default 1,
  mode text not null,
  permits integer,
  owner text not null,
  holder_id text not null,
  nonce text not null,
  created_ms bigint not null,
  renewed_ms bigint not null,
  lease_ms bigint not null,
  grace_ms bigint not null,
  renewals integer not null default 0,
  fencing_token bigint not null,
  token_hash text not null,
  profile text not null,
  detached boolean not null,
  cover text,
  proof text not null,
  metadata text not null,
  login text not null default session_user,
  primary key (resource, lock_id)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- Places in line live for seconds and are re-entered after a crash: they are not worth a write to the log. A request for
-- keys of several trees has a row in each. `offer` is what a client that listens is given when its turn comes; null for the
-- others. `kept` is what the waiter keeps until its wait ends, where it says so.
create unlogged table holdfast.tickets (
  tree text collate "C" not null,
  ticket_id text collate "C" not null,
  number bigint not null,
  wants holdfast.want[] not null,
  owner text not null,
  holder_id text not null,
  nonce text not null,
  proof text not null,
  entered_ms bigint not null,
  wait_ms bigint not null,
  refreshed_ms bigint not null,
  upgrade_of text,
  offer json,
  kept json,
  login text not null default session_user,
  primary key (tree, ticket_id)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

create sequence holdfast.ticket_numbers;

create table holdfast.audit (
  tree text collate "C" not null,
  seq bigint not null,
  at_ms bigint not null,
  event text not null,
  resource text collate "C" not null,
  owner text not null,
  holder_id text not null,
  fencing_token bigint,
  lock_id text,
  details text not null,
  hash text not null,
  primary key (tree, seq)
) with (autovacuum_vacuum_insert_scale_factor = 1);

-- One life of the server, from one loss of its memory to the next. The row goes with a crash, as everything in an
-- unlogged table does, also with that of a single backend, which starts all others anew under the same postmaster.
create unlogged table holdfast.incarnation (
  singleton boolean primary key default true check (singleton),
  id text not null
);

-- What the functions hand to each other.
create type holdfast.neighbourhood as (grants holdfast.grants[], unreadable text[]);

create type holdfast.decision as (
  kind text,                   -- grant, wait or refuse
  code text, why text,         -- of a refusal
  covers holdfast.grants[],    -- per want: what it nests in, or null
  ends holdfast.grants[],      -- to be ended first
  holders holdfast.grants[]    -- in the way
);

insert into holdfast.store (schema_version) values (1);
