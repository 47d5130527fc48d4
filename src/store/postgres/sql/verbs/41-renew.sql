-- Renews and resumes: renewal extends a lease; resuming turns a lapsed one that was not ended into a new grant with a
-- new token.
create or replace function holdfast.renew(
  keys text[], tokens text[], lock_ids text[] default '{}', lease_ms bigint default null, store uuid default null
) returns json language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s' as $$
#variable_conflict use_variable
declare
  st holdfast.store := holdfast.the_store(store);
  guards holdfast.trees[];
  now bigint;
  list holdfast.grants[];
begin
  perform holdfast.wants_of(array(select distinct key from unnest(keys) key), '{read}', '{}');
  if lease_ms is not null then perform holdfast.check_duration(lease_ms, 'ttl', 1000, 86400000); end if;
  guards := holdfast.enter(holdfast.trees_of(keys));
  perform holdfast.this_life(); -- So that it is noted soon after a crash, also where nothing else is done.
  now := holdfast.now_ms();
  list := holdfast.require_all(keys, lock_ids, tokens, now);
  list := holdfast.renew_grants(list, lease_ms, now);
  return json_build_object('now', now, 'grants', holdfast.grants_json(list, holdfast.seals(tokens)));
end $$;

create or replace function holdfast.renew_grants(list holdfast.grants[], lease_ms bigint, now bigint)
returns holdfast.grants[] language plpgsql as $$
#variable_conflict use_variable
begin
  for at in 1 .. cardinality(list) loop
    list[at].renewed_ms := now;
    list[at].lease_ms := coalesce(lease_ms, list[at].lease_ms);
    list[at].renewals := list[at].renewals + 1;
    update holdfast.grants x set renewed_ms = now, lease_ms = list[at].lease_ms, renewals = list[at].renewals
    where x.resource = list[at].resource and x.lock_id = list[at].lock_id;
  end loop;
  return list;
end $$;

create or replace function holdfast.resume(
  keys text[], tokens text[], lock_ids text[], new_token text, owner text, holder_id text default null,
  new_lock_ids text[] default null, again boolean default false, store uuid default null
) returns json language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s' as $$
#variable_conflict use_variable
declare
  st holdfast.store := holdfast.the_store(store);
  seal text := holdfast.seal(new_token);
  guards holdfast.trees[];
  now bigint;
  old holdfast.grants[] := '{}';
  fresh holdfast.grants[];
  g holdfast.grants;
begin
  perform holdfast.wants_of(keys, '{read}', '{}');
  if new_token is null then perform holdfast.invalid('new_token', 'a resume needs a new token'); end if;
  holder_id := holdfast.checked_holder(owner, holder_id);
  perform holdfast.check_ids(new_lock_ids, null, '{}');
  guards := holdfast.enter(holdfast.trees_of(keys));
  now := holdfast.now_ms();
  if again then
    fresh := holdfast.granted_before(keys, new_lock_ids, seal);
    if cardinality(fresh) = cardinality(keys) then
      return json_build_object('now', now, 'grants', holdfast.grants_json(fresh, array[seal]),
        'left', holdfast.left_on(guards, keys));
    end if;
  end if;
  for at in 1 .. cardinality(keys) loop
    g := holdfast.find_own(keys[at], lock_ids[at], holdfast.seal(coalesce(tokens[at], tokens[1])));
    if g.lock_id is null then
      perform holdfast.not_held(keys[at], 'somebody has ended your grant on ' || keys[at] || ' meanwhile');
    end if;
    old := old || g;
  end loop;
  fresh := holdfast.resume_grants(guards, old, seal, owner, holder_id, new_lock_ids, now);
  return json_build_object('now', now, 'grants', holdfast.grants_json(fresh, array[seal]),
    'left', holdfast.left_on(guards, keys));
end $$;

-- Puts new grants under a new token in the place of these, and records it. Leaves the guard.
create or replace function holdfast.resume_grants(
  guards holdfast.trees[], old holdfast.grants[], seal text, owner text, holder_id text, new_lock_ids text[], now bigint
) returns holdfast.grants[] language plpgsql as $$
#variable_conflict use_variable
declare
  keys text[] := holdfast.keys_of(old);
  near holdfast.neighbourhood := holdfast.near(keys);
  shared text := holdfast.shared(keys);
  fresh holdfast.grants[] := '{}';
  g holdfast.grants;
begin
  foreach g in array old loop
    if g.cover is not null then
      perform holdfast.fail('E_LOCK_EXPIRED', g.resource || ' nests in another lease: resume that one');
    end if;
  end loop;
  perform holdfast.must_go_first(holdfast.nested_in(near.grants, old), 'resumed');
  for at in 1 .. cardinality(old) loop
    g := old[at];
    select x.guards, x.token into guards, g.fencing_token from holdfast.mint(guards, g.resource, now) x;
    g.lock_id := coalesce(new_lock_ids[at], gen_random_uuid()::text);
    g.token_hash := seal;
    g.login := session_user;
    g.created_ms := now;
    g.renewed_ms := now;
    g.renewals := 0;
    delete from holdfast.grants x where x.resource = g.resource and x.lock_id = old[at].lock_id;
    insert into holdfast.grants values (g.*);
    fresh := fresh || g;
  end loop;
  for at in 1 .. cardinality(old) loop
    guards := holdfast.append(guards, now, 'resumed', fresh[at].resource, owner, holder_id, fresh[at].fencing_token,
      fresh[at].lock_id, '{' || shared || '"old_lock_id":"' || old[at].lock_id || '","old_fencing_token":' ||
      old[at].fencing_token || '}');
  end loop;
  perform holdfast.leave_guard(guards);
  return fresh;
end $$;
