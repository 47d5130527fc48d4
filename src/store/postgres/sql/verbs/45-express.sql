-- The short ways: the most frequent calls in fewer statements, on a key that no other holder or waiter has, and on a key
-- whose whole queue requests the same, to write it. Then a grant cannot admit a waiter, and a release only the first one
-- (46-hand-over.sql). All other calls take the general way, under the same guard; the answers are the same.
--
-- Their statements are planned once per session, not for each call, and for a large table also while it is small. The
-- statements are small, because most of the cost of a call is setting them up.

create or replace function holdfast.acquire(
  keys text[], owner text, modes text[] default '{write}', lease_ms bigint default 30000, wait_ms bigint default 0,
  metadata text default '{}', token text default null, ticket_id text default null, permits integer[] default '{}',
  presented_keys text[] default '{}', presented_tokens text[] default '{}', holder_id text default null,
  nonce text default null, detached boolean default true, grace_ms bigint default null,
  proof text default '{"kind":"none"}', strict_order boolean default false, must_steal boolean default false,
  lock_ids text[] default null, again boolean default false, store uuid default null
) returns json language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s'
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_variable
declare
  answer json;
begin
  if cardinality(keys) = 1 and cardinality(presented_keys) = 0 and permits[1] is null and lock_ids[1] is not null
     and not (again or must_steal) then
    answer := holdfast.take(keys[1], owner, modes[1], lease_ms, grace_ms, wait_ms, metadata, token, ticket_id, lock_ids[1],
      holder_id, nonce, proof, detached, strict_order, false, store);
    if answer ->> 'kind' <> 'taken' then return answer; end if;
    select json_build_object('kind', 'granted', 'now', g.created_ms,
      'grants', json_build_array(holdfast.grant_json(g, array[holdfast.seal(token)])), 'ended', '[]'::json)
    into answer from holdfast.grants g where g.resource = keys[1] and g.lock_id = lock_ids[1];
    return answer;
  end if;
  return holdfast.acquire_step(keys, owner, modes, lease_ms, wait_ms, metadata, token, ticket_id, permits, presented_keys,
    presented_tokens, holder_id, nonce, detached, grace_ms, proof, strict_order, must_steal, lock_ids, again, store);
end $$;

-- One key, for a client of ours. Granted the short way, it is `taken`: the answer has only what the client cannot know.
create or replace function holdfast.take(
  key text, owner text, mode text, lease_ms bigint, grace_ms bigint, wait_ms bigint, metadata text, token text,
  ticket_id text, lock_id text, holder_id text, nonce text, proof text, detached boolean, strict_order boolean,
  is_listening boolean, store uuid
) returns json language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s'
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_variable
declare
  name text := split_part(key, '/', 1);
  known uuid;
  prefixes text[];
  names text[];
  guard holdfast.trees;
  now bigint;
  profile text;
  epoch text;
  fence bigint;
  details text;
  hash text;
  seal text;
  answer json;
  silence text := holdfast.limit_silence();
begin
  if length(token) = 50 and (ticket_id is null or mode = 'write')
     and holdfast.is_plain(key, owner, mode, lease_ms, wait_ms, metadata, holder_id, nonce, lock_id, proof)
     and current_setting('transaction_isolation') = 'read committed' then
    select s.store_id, s.profile_prefixes, s.profile_names, t.fence, t.epoch, t.audit_seq, t.audit_hash, t.publishing
    into known, prefixes, names, guard.fence, guard.epoch, guard.audit_seq, guard.audit_hash, guard.publishing
    from holdfast.store s, holdfast.trees t where t.tree = name for no key update of t;
    if known = store and guard.publishing = 0 then
      if metadata <> '{}' then perform holdfast.check_metadata(metadata); end if;
      now := holdfast.now_ms();
      profile := holdfast.profile_of(key, prefixes, names);
      -- From here on new statements, which see what was committed while the guard was waited for.
      if profile <> 'strict'
         and not exists (select 1 from holdfast.grants g where g.resource = any (holdfast.nodes_of(key)))
         and not exists (select 1 from holdfast.grants g where g.resource > key || '/' and g.resource < key || '0')
         and (case when ticket_id is null then not exists (select 1 from holdfast.tickets t where t.tree = name)
              else holdfast.is_first(name, key, ticket_id, now) end) then
        epoch := holdfast.epoch();
        fence := holdfast.next_fence(guard.fence, guard.epoch, epoch, now);
        seal := holdfast.seal(token);
        details := holdfast.by_login('{"mode":"' || mode || '","lease_ms":' || lease_ms
          || case when detached then ',"detached":true}' else '}' end);
        hash := holdfast.entry_hash(holdfast.entry_body(guard.audit_seq + 1, now, 'granted', key, owner, holder_id, fence,
          lock_id, details, guard.audit_hash));
        insert into holdfast.grants values (key, lock_id, 1, mode, null, owner, holder_id, nonce, now, now, lease_ms,
          coalesce(grace_ms, lease_ms), 0, fence, seal, profile, detached, null, proof, metadata);
        insert into holdfast.audit values (name, guard.audit_seq + 1, now, 'granted', key, owner, holder_id, fence, lock_id,
          details, hash);
        update holdfast.trees t set fence = fence, epoch = epoch, audit_seq = guard.audit_seq + 1, audit_hash = hash
        where t.tree = name;
        if ticket_id is not null then
          delete from holdfast.tickets t where t.tree = name and t.ticket_id = ticket_id;
        end if;
        return holdfast.taken(now, fence, lease_ms, profile);
      end if;
      if ticket_id is null and wait_ms > 0 and mode = 'write' then
        answer := holdfast.stand_behind(name, key, wait_ms, owner, holder_id, nonce, proof, now,
          case when is_listening and lease_ms between 5000 and 60000 and profile in ('default', 'lease') then
            json_build_object('resource', key, 'lock_id', lock_id, 'owner', owner, 'holder_id', holder_id, 'nonce', nonce,
              'lease_ms', lease_ms, 'grace_ms', coalesce(grace_ms, lease_ms), 'token_hash', holdfast.seal(token), 'profile', profile,
              'detached', detached, 'proof', proof, 'metadata', metadata) end);
        if answer is not null then return answer; end if;
      end if;
    end if;
  end if;
  return holdfast.acquire_step(array[key], owner, array[mode], lease_ms, wait_ms, metadata, token, ticket_id, '{}', '{}', '{}',
    holder_id, nonce, detached, grace_ms, proof, strict_order, false, array[lock_id], false, store);
end $$;

create or replace function holdfast.taken(now bigint, fence bigint, lease_ms bigint, profile text) returns json
language sql stable as
$$ select ('{"kind":"taken","now":' || now || ',"fencing_token":' || fence || ',"lease_ms":' || lease_ms || ',"profile":"'
     || profile || '"}')::json $$;

-- True when the ticket is the first that stands, and all in the tree want what it wants: to write this key.
create or replace function holdfast.is_first(name text, key text, mine text, now bigint) returns boolean
language plpgsql as $$
declare
  first text;
  login text;
begin
  if not holdfast.is_one_line(name, key) then return false; end if;
  select t.ticket_id, t.login into first, login from holdfast.tickets t where t.tree = name and holdfast.stands(t, now)
  order by t.number, t.ticket_id limit 1;
  return coalesce(first = mine and login = session_user, false);
end $$;

create or replace function holdfast.is_one_line(name text, key text) returns boolean language plpgsql as $$
begin
  return not exists (select 1 from holdfast.tickets t
    where t.tree = name and (t.upgrade_of is not null or t.wants <> array[(key, 'write', null)::holdfast.want]));
end $$;

-- A new place at the end of such a line, behind the one holder of the key; null when there is more to it than that.
create or replace function holdfast.stand_behind(
  name text, key text, wait_ms bigint, owner text, holder_id text, nonce text, proof text, now bigint, offer json
) returns json language plpgsql as $$
#variable_conflict use_variable
declare
  h holdfast.grants;
  waiting integer;
  lapsed integer;
  id text := gen_random_uuid()::text;
begin
  select g.* into h from holdfast.grants g where g.resource = key and g.mode = 'write' and g.permits is null
    and g.schema_version = 1 and g.renewed_ms + g.lease_ms > now
    and not exists (select 1 from holdfast.grants x
      where x.resource = any (holdfast.nodes_of(key)) and x.lock_id <> g.lock_id)
    and not exists (select 1 from holdfast.grants x where x.resource > key || '/' and x.resource < key || '0');
  if h.lock_id is null or not holdfast.is_one_line(name, key) then return null; end if;
  select count(*) filter (where holdfast.stands(t, now)), count(*) filter (where not holdfast.stands(t, now))
  into waiting, lapsed from holdfast.tickets t where t.tree = name;
  if lapsed > 0 then return null; end if;
  -- As in stand_in_line.
  perform set_config('synchronous_commit', 'off', true);
  insert into holdfast.tickets values (name, id, nextval('holdfast.ticket_numbers'),
    array[(key, 'write', null)::holdfast.want], owner, holder_id, nonce, proof, now, wait_ms, now, null, offer);
  return json_build_object('kind', 'queued', 'ticket_id', id, 'ahead', waiting, 'contention', holdfast.contention_json(
    key, h, array[h], null, waiting, h.renewed_ms + h.lease_ms - now, now));
end $$;

-- What a client of ours sends. Anything else goes the long way, which says what is wrong with it. Stable, as reading JSON is:
-- only so it becomes a part of what calls it.
create or replace function holdfast.is_plain(
  key text, owner text, mode text, lease_ms bigint, wait_ms bigint, metadata text, holder_id text, nonce text,
  lock_id text, proof text
) returns boolean language sql stable as
$$ select coalesce(
     octet_length(key) <= 63 and key ~ '^[A-Za-z0-9._:@+=,~%-]+(/[A-Za-z0-9._:@+=,~%-]+)*$'
     and (strpos(key, '.') = 0 or key !~ '(^|/)[.][.]?(/|$)')
     and length(owner) <= 208 and owner ~ '^(agent|job|service|user|admin):[^[:space:][:cntrl:]]+$'
     and mode in ('read', 'upgradeable', 'write')
     and lease_ms between 1000 and 86400000 and wait_ms between 0 and 86400000 and metadata is not null
     and holder_id <> '' and length(holder_id) <= 512 and length(nonce) <= 48 and nonce ~ '^[A-Za-z0-9._-]+$'
     and length(lock_id) = 36 and lock_id ~ '^[0-9a-f-]+$'
     and octet_length(proof) <= 1024 and json_typeof(proof::json) = 'object', false) $$;

-- Takes over from a holder that is gone, in one step.
create or replace function holdfast.steal(
  keys text[], owner text, modes text[] default '{write}', lease_ms bigint default 30000, metadata text default '{}'
) returns json language sql as
$$ select holdfast.acquire(keys, owner, modes, lease_ms, 0, metadata, must_steal => true) $$;
