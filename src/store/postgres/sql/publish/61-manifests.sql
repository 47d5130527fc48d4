-- The record of publishes: src/store/operations/publish.ts, as far as a server can do it. The server cannot see the disk,
-- so it names the publishes to settle to the client, which examines the disk and reports what it found. See
-- src/store/postgres/publish/manifests.ts.
--
-- A change of a manifest's state holds its target (an advisory lock of the transaction), then the guards of its trees.

-- Whether its writer may go on: its grant stands, and its lease lasts.
create or replace function holdfast.is_live(m holdfast.manifests) returns boolean language sql volatile as
$$ select exists (select 1 from holdfast.grants g where g.resource = m.resource and g.lock_id = m.lock_id
     and not holdfast.is_expired(g, holdfast.now_ms())) $$;

-- The keys whose holders find it settled: the one it is published under, and that of the target's files.
create or replace function holdfast.keys_of_manifest(resource text, path_key text) returns text[] language sql immutable as
$$ select array_remove(array[resource, path_key], null) $$;

-- As docs/formats.md has it, with where it is and whether its writer may go on.
create or replace function holdfast.manifest_json(m holdfast.manifests) returns json language sql volatile as
$$ select json_build_object('id', m.id, 'op', m.op, 'target', m.target, 'tmp_path', m.tmp_path, 'owner', m.owner,
     'resource', m.resource, 'path_key', m.path_key, 'fencing_token', m.fencing_token, 'state', m.state, 'created_at', holdfast.iso(m.created_ms),
     'committed_at', holdfast.iso(m.committed_ms), 'file_count', m.file_count, 'bytes', m.bytes,
     'target_key', m.target_key, 'lock_id', m.lock_id, 'sealed', m.sealed, 'cleared', m.cleared,
     'place', m.place, 'machine', m.machine, 'live', holdfast.is_live(m)) $$;

-- What publishers that are gone left on these keys, above or below them, in a step that has just granted them.
create or replace function holdfast.left_on(guards holdfast.trees[], keys text[]) returns json language plpgsql volatile as $$
declare
  guard holdfast.trees;
  is_publishing boolean := false;
begin
  foreach guard in array guards loop is_publishing := is_publishing or guard.publishing > 0; end loop;
  if not is_publishing then return '[]'::json; end if;
  return (select coalesce(json_agg(holdfast.manifest_json(m) order by m.created_ms, m.id), '[]') from holdfast.manifests m
    where m.state = 'pending' and not holdfast.is_live(m) and exists (
      select 1 from unnest(keys) key, unnest(holdfast.keys_of_manifest(m.resource, m.path_key)) own
      where holdfast.within(key, own) or holdfast.within(own, key)));
end $$;

-- The same for who has been granted something without being told.
create or replace function holdfast.manifests_left(keys text[], store uuid default null) returns json
language plpgsql security definer set search_path = holdfast, pg_temp as $$
#variable_conflict use_variable
declare
  st holdfast.store := holdfast.the_store(store);
begin
  return holdfast.left_on(array(select t from holdfast.trees t where t.tree = any (holdfast.trees_of(keys))), keys);
end $$;

-- One at a time decides what becomes of a target.
create or replace function holdfast.hold_target(place text, target text) returns void language sql volatile as
$$ select pg_advisory_xact_lock(hashtextextended('holdfast target ' || place || ' ' || target, 0)) $$;

create or replace function holdfast.ended_by_another(key text) returns void language sql volatile as
$$ select holdfast.not_held(key, 'the publish was ended by somebody else') $$;

-- After all that is on record of the target, so that what came later is told from the rest however the clock is set.
create or replace function holdfast.next_on_record(target text, place text) returns bigint language sql volatile as
$$ select greatest(holdfast.now_ms(), 1 + max(x.created_ms), 1 + max(x.committed_ms)) from holdfast.manifests x
   where x.target = next_on_record.target and x.place = next_on_record.place $$;

-- Puts a manifest on record, unless there are others pending on its target that the caller has not looked at: then those
-- are told, and nothing is done. Asked again with the same id it tells what is there.
create or replace function holdfast.manifest_begin(
  id text, op text, target text, tmp_path text, place text, machine text, key text, token text, lock_id text,
  seen text[] default '{}', store uuid default null, path_key text default null
) returns json language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s' as $$
#variable_conflict use_variable
declare
  st holdfast.store := holdfast.the_store(store);
  g holdfast.grants;
  m holdfast.manifests;
  pending json;
  recorded text;
begin
  perform holdfast.check_ids(array[id], null, '{}');
  if coalesce(target, '') = '' or coalesce(tmp_path, '') = '' then perform holdfast.invalid('target', 'a path'); end if;
  if path_key is not null then perform holdfast.check_key(path_key); end if;
  perform holdfast.hold_target(place, target);
  perform holdfast.enter(holdfast.trees_of(holdfast.keys_of_manifest(key, path_key)));
  perform holdfast.assert_fence(array[key], array[token], array[lock_id]);
  select * into m from holdfast.manifests x where x.id = id;
  if found then return holdfast.begun(m); end if;
  select json_agg(holdfast.manifest_json(x) order by x.created_ms, x.id) into pending from holdfast.manifests x
  where x.target = target and x.place = place and x.state = 'pending' and x.id <> all (seen);
  if pending is not null then return json_build_object('begun', null, 'pending', pending, 'uncleared', '[]'::json); end if;
  select x.target_key into recorded from holdfast.manifests x
  where x.target = target and x.place = place and x.state <> 'aborted' order by x.created_ms, x.id limit 1;
  recorded := coalesce(recorded, key);
  if not holdfast.within(recorded, key) then
    perform holdfast.fail('E_CONFIG', target || ' is published under ' || recorded || ', not under ' || key,
      json_build_object('reason', 'key_differs', 'path', target, 'recorded', recorded, 'resource', key)::text,
      'Hold ' || recorded || ', or something above it, to publish there.');
  end if;
  g := holdfast.find_own(key, lock_id, holdfast.seal(token));
  insert into holdfast.manifests values (id, op, target, tmp_path, g.owner, key, g.fencing_token, 'pending',
    holdfast.next_on_record(target, place), null, 0, 0, recorded, g.lock_id, null, false, place, machine, path_key)
  returning * into m;
  update holdfast.trees x set publishing = x.publishing + 1
  where x.tree = any (holdfast.trees_of(holdfast.keys_of_manifest(key, path_key)));
  return holdfast.begun(m);
end $$;

-- With what earlier ones have left there and nobody has removed.
create or replace function holdfast.begun(m holdfast.manifests) returns json language sql volatile as
$$ select json_build_object('begun', holdfast.manifest_json(m), 'pending', '[]'::json, 'uncleared',
     (select coalesce(json_agg(holdfast.manifest_json(x)), '[]') from holdfast.manifests x
      where x.target = m.target and x.place = m.place and x.state <> 'pending' and not x.cleared)) $$;

-- The beginning of a path, and a hash of all of it: in this order the files are listed.
create or replace function holdfast.place_in_list(path text) returns text language sql immutable as
$$ select left(path, 500) || ' ' || md5(path) $$;

create or replace function holdfast.put_files(id text, paths text[], sizes bigint[], sums text[], modes integer[])
returns void language sql volatile as
$$ insert into holdfast.manifest_files
   select id, holdfast.place_in_list(f.path), f.path, f.size, f.sha256, f.mode
   from unnest(paths, sizes, sums, modes) as f (path, size, sha256, mode)
   on conflict (manifest, place_in_list) do update
   set size = excluded.size, sha256 = excluded.sha256, mode = excluded.mode $$;

create or replace function holdfast.manifest_add(
  id text, key text, token text, lock_id text, paths text[], sizes bigint[], sums text[], modes integer[],
  store uuid default null
) returns void language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s' as $$
#variable_conflict use_variable
declare
  st holdfast.store := holdfast.the_store(store);
begin
  perform holdfast.assert_fence(array[key], array[token], array[lock_id]);
  perform holdfast.put_files(id, paths, sizes, sums, modes);
end $$;

-- Everything is written: from here on a rename may have been made.
create or replace function holdfast.manifest_seal(
  id text, key text, token text, lock_id text, identity text, file_count bigint, bytes bigint,
  paths text[], sizes bigint[], sums text[], modes integer[], store uuid default null
) returns json language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s' as $$
#variable_conflict use_variable
declare
  st holdfast.store := holdfast.the_store(store);
  m holdfast.manifests;
begin
  perform holdfast.assert_fence(array[key], array[token], array[lock_id]);
  update holdfast.manifests x set sealed = identity, file_count = file_count, bytes = bytes
  where x.id = id and x.state = 'pending' and x.lock_id = lock_id returning * into m;
  if not found then perform holdfast.ended_by_another(key); end if;
  perform holdfast.put_files(id, paths, sizes, sums, modes);
  return holdfast.manifest_json(m);
end $$;

-- The check before the rename. Until the transaction ends the grant cannot be taken over, and nobody else decides about
-- the target; a client that falls silent for `max_ms` is cut off.
create or replace function holdfast.manifest_check(
  id text, key text, token text, lock_id text, max_ms integer, store uuid default null
) returns void language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s' as $$
#variable_conflict use_variable
declare
  m holdfast.manifests;
begin
  select * into m from holdfast.manifests x where x.id = id;
  if found then perform holdfast.hold_target(m.place, m.target); end if;
  perform holdfast.assert_fence(array[key], array[token], array[lock_id], max_ms, store);
  select * into m from holdfast.manifests x where x.id = id and x.lock_id = lock_id;
  if m.state is distinct from 'pending' or m.sealed is null then
    perform holdfast.ended_by_another(key);
  end if;
end $$;

-- The rename is made, under that check, in the same transaction.
create or replace function holdfast.manifest_commit(
  id text, replaced boolean, key text, token text, lock_id text, owner text, holder_id text, store uuid default null
) returns json language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s' as $$
#variable_conflict use_variable
declare
  st holdfast.store := holdfast.the_store(store);
  guards holdfast.trees[];
  g holdfast.grants;
  m holdfast.manifests;
begin
  select * into m from holdfast.manifests x where x.id = id;
  guards := holdfast.enter(holdfast.trees_of(holdfast.keys_of_manifest(key, m.path_key)));
  g := holdfast.find_own(key, lock_id, holdfast.seal(token));
  if g.lock_id is null then perform holdfast.overtaken(key); end if;
  select * into m from holdfast.manifests x where x.id = id and x.lock_id = g.lock_id;
  if m.state is distinct from 'pending' then
    perform holdfast.ended_by_another(key);
  end if;
  return holdfast.end_manifest(m, guards, 'committed', not replaced, owner, holder_id, '');
end $$;

create or replace function holdfast.end_manifest(
  m holdfast.manifests, guards holdfast.trees[], end_state text, is_cleared boolean, owner text, holder_id text, more text
) returns json language plpgsql as $$
declare
  now bigint := holdfast.now_ms();
begin
  holder_id := holdfast.checked_holder(owner, holder_id);
  update holdfast.manifests x set state = end_state, cleared = is_cleared,
    committed_ms = case when end_state = 'committed' then holdfast.next_on_record(m.target, m.place) end
  where x.id = m.id returning * into m;
  update holdfast.trees x set publishing = x.publishing - 1
  where x.tree = any (holdfast.trees_of(holdfast.keys_of_manifest(m.resource, m.path_key)));
  guards := holdfast.append(guards, now, case when end_state = 'committed' then 'published' else 'publish_undone' end,
    m.resource, owner, holder_id, m.fencing_token, m.lock_id,
    '{"manifest":"' || m.id || '","op":' || to_json(m.op) || ',"target":' || to_json(m.target) || ',"files":' || m.file_count
    || ',"bytes":' || m.bytes || more || '}');
  perform holdfast.leave_guard(guards);
  return holdfast.manifest_json(m);
end $$;

-- For who settles: from here to the end of the transaction nobody else decides about its target. Null: there is none.
create or replace function holdfast.manifest_hold(id text, max_ms integer, store uuid default null) returns json
language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s' as $$
#variable_conflict use_variable
declare
  st holdfast.store := holdfast.the_store(store);
  m holdfast.manifests;
begin
  select * into m from holdfast.manifests x where x.id = id;
  if not found then return null; end if;
  perform holdfast.hold_target(m.place, m.target);
  perform set_config('idle_in_transaction_session_timeout', max_ms::text, true);
  select * into m from holdfast.manifests x where x.id = id;
  return case when found then holdfast.manifest_json(m) end;
end $$;

-- What was found on the disk goes on record. One of a live writer only for that writer itself.
create or replace function holdfast.manifest_settle(
  id text, made boolean, is_cleared boolean, mine boolean, owner text, holder_id text, store uuid default null
) returns json language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s' as $$
#variable_conflict use_variable
declare
  st holdfast.store := holdfast.the_store(store);
  guards holdfast.trees[];
  m holdfast.manifests;
begin
  select * into m from holdfast.manifests x where x.id = id;
  if not found then return null; end if;
  guards := holdfast.enter(holdfast.trees_of(holdfast.keys_of_manifest(m.resource, m.path_key)));
  select * into m from holdfast.manifests x where x.id = id;
  if not found then return null; end if;
  if m.state <> 'pending' or (not mine and holdfast.is_live(m)) then return holdfast.manifest_json(m); end if;
  return holdfast.end_manifest(m, guards, case when made then 'committed' else 'aborted' end, is_cleared, owner, holder_id,
    ',"settled":true');
end $$;

-- Nothing is left at its tmp_path. Forgets what newer manifests of the target have outlived, but for the last `keeps`.
create or replace function holdfast.manifest_clear(id text, keeps integer, store uuid default null) returns void
language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s' as $$
#variable_conflict use_variable
declare
  st holdfast.store := holdfast.the_store(store);
  m holdfast.manifests;
  newest text;
  gone text[];
begin
  select * into m from holdfast.manifests x where x.id = id;
  if not found then return; end if;
  perform holdfast.enter(array[holdfast.tree_of(m.resource)]);
  update holdfast.manifests x set cleared = true where x.id = id and x.state <> 'pending';
  if not found then return; end if;
  select x.id into newest from holdfast.manifests x where x.target = m.target and x.place = m.place and x.state = 'committed'
  order by x.committed_ms desc, x.fencing_token desc, x.created_ms desc, x.id desc limit 1;
  gone := array(select x.id from holdfast.manifests x
    where x.target = m.target and x.place = m.place and x.cleared and x.state <> 'pending'
      and x.id is distinct from newest and x.id <> m.id and holdfast.tree_of(x.resource) = holdfast.tree_of(m.resource)
    order by x.created_ms desc, x.id desc offset greatest(0, keeps));
  delete from holdfast.manifests x where x.id = any (gone);
  delete from holdfast.manifest_files f where f.manifest = any (gone);
end $$;

-- Oldest first; `after_…` goes on behind the last of an earlier page.
create or replace function holdfast.manifest_list(
  target text default null, state text default null, after_ms bigint default null, after_id text default null,
  page integer default 1000, store uuid default null
) returns json language plpgsql security definer set search_path = holdfast, pg_temp as $$
#variable_conflict use_variable
declare
  st holdfast.store := holdfast.the_store(store);
begin
  perform holdfast.check_page(page);
  return (select coalesce(json_agg(holdfast.manifest_json(m::holdfast.manifests) order by m.created_ms, m.id), '[]') from (
    select * from holdfast.manifests x
    where (target is null or x.target = target) and (state is null or x.state = state)
      and (after_ms is null or (x.created_ms, x.id) > (after_ms, after_id))
    order by x.created_ms, x.id limit page) as m);
end $$;

create or replace function holdfast.files_of_manifest(
  id text, after_path text default null, page integer default 1000, store uuid default null
) returns json language plpgsql security definer set search_path = holdfast, pg_temp as $$
#variable_conflict use_variable
declare
  st holdfast.store := holdfast.the_store(store);
begin
  return (select coalesce(json_agg(json_build_object('path', f.path, 'size', f.size, 'sha256', f.sha256, 'mode', f.mode)
      order by f.place_in_list), '[]') from (
    select * from holdfast.manifest_files x
    where x.manifest = id and x.place_in_list > coalesce(holdfast.place_in_list(after_path), '')
    order by x.place_in_list limit page) as f);
end $$;
