-- The tables of publishes, version 1. A target is a path in one place, which is known by the mark beside it: the same path on
-- another machine is another target.
create table holdfast.manifests (
  id text collate "C" primary key,
  op text not null,
  target text collate "C" not null,
  tmp_path text not null,
  owner text not null,
  resource text collate "C" not null,
  fencing_token bigint not null,
  state text collate "C" not null,
  created_ms bigint not null,
  committed_ms bigint,
  file_count bigint not null,
  bytes bigint not null,
  target_key text collate "C" not null,
  lock_id text collate "C" not null,
  sealed text,
  cleared boolean not null,
  place text collate "C" not null,
  machine text collate "C" not null,
  path_key text collate "C"
) with (fillfactor = 70);
-- A path may be longer than a row of an ordered index.
create index manifests_of_target on holdfast.manifests using hash (target);
create index manifests_pending on holdfast.manifests (resource) where state = 'pending';
create index manifests_pending_path on holdfast.manifests (path_key) where state = 'pending';
create index manifests_by_age on holdfast.manifests (created_ms, id);

create table holdfast.manifest_files (
  manifest text collate "C" not null,
  place_in_list text collate "C" not null,
  path text not null,
  size bigint not null,
  sha256 text not null,
  mode integer not null,
  primary key (manifest, place_in_list)
);
