-- The calls that come in most often, in fewer statements: on a key that nobody else holds or waits for, and on one for which
-- all the line wants the same, to write it. Then nobody in line can be let in by a grant, and the first alone by a release.
-- What is not as simple as that goes the long way, under the same guard; the answers are the same.
--
-- Their statements are planned once per session, not for each call, and for a large table also while it is small.

-- As they were before a client could say that it listens.
drop function if exists holdfast.acquire(text[], text, text[], bigint, bigint, text, text, text, integer[], text[], text[], text,
  text, boolean, bigint, text, boolean, boolean, text[], boolean, uuid);
drop function if exists holdfast.stand_behind(text, text, bigint, text, text, text, text);
drop function if exists holdfast.wake_first(text);

create or replace function holdfast.acquire(
  keys text[], owner text, modes text[] default '{write}', lease_ms bigint default 30000, wait_ms bigint default 0,
  metadata text default '{}', token text default null, ticket_id text default null, permits integer[] default '{}',
  presented_keys text[] default '{}', presented_tokens text[] default '{}', holder_id text default null,
  nonce text default null, detached boolean default true, grace_ms bigint default null,
  proof text default '{"kind":"none"}', strict_order boolean default false, must_steal boolean default false,
  lock_ids text[] default null, again boolean default false, store uuid default null, is_listening boolean default false
) returns json language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s'
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_variable
declare
  key text := keys[1];
  name text := split_part(key, '/', 1);
  known uuid;
  prefixes text[];
  names text[];
  guard holdfast.trees;
  answer json;
begin
  if cardinality(keys) = 1 and cardinality(presented_keys) = 0 and length(token) = 43 and permits[1] is null and not (again or must_steal) and (ticket_id is null or modes[1] = 'write')
     and holdfast.is_plain(key, owner, modes[1], lease_ms, wait_ms, metadata, holder_id, nonce, lock_ids[1], proof)
     and current_setting('transaction_isolation') = 'read committed' then
    select s.store_id, s.profile_prefixes, s.profile_names, t.fence, t.epoch, t.audit_seq, t.audit_hash, t.publishing
    into known, prefixes, names, guard.fence, guard.epoch, guard.audit_seq, guard.audit_hash, guard.publishing
    from holdfast.store s, holdfast.trees t where t.tree = name for no key update of t;
    if known = store and guard.publishing = 0 then
      if metadata <> '{}' then perform holdfast.check_metadata(metadata); end if;
      -- From here on a new statement, which sees what was committed while the guard was waited for.
      with moment as (
        select holdfast.now_ms() as now, holdfast.epoch() as epoch,
          holdfast.profile_of(key, prefixes, names) as profile
        where not exists (select 1 from holdfast.grants x where x.resource = any (holdfast.nodes_of(key)))
          and not exists (select 1 from holdfast.grants x where x.resource > key || '/' and x.resource < key || '0')
          and case when ticket_id is null then not exists (select 1 from holdfast.tickets t where t.tree = name)
            else holdfast.is_first(name, key, ticket_id) end
      ), fence as (
        select m.*, 1 + case when guard.epoch = m.epoch then guard.fence else greatest(guard.fence, m.now) + 1000000000 end
          as token, '{"mode":"' || modes[1] || '","lease_ms":' || lease_ms || case when detached then ',"detached":true}' else '}' end
          as details
        from moment m where m.profile <> 'strict'
      ), entry as (
        select f.*, holdfast.entry_hash(holdfast.entry_body(guard.audit_seq + 1, f.now, 'granted', key, owner, holder_id,
          f.token, lock_ids[1], f.details, guard.audit_hash)) as hash
        from fence f
      ), granted as (
        insert into holdfast.grants
        select key, lock_ids[1], 1, modes[1], null, owner, holder_id, nonce, e.now, e.now, lease_ms,
          coalesce(grace_ms, lease_ms), 0, e.token, token, e.profile, detached, null, proof, metadata
        from entry e returning *
      ), told as (
        insert into holdfast.audit
        select name, guard.audit_seq + 1, e.now, 'granted', key, owner, holder_id, e.token, lock_ids[1], e.details, e.hash
        from entry e
      ), served as (
        delete from holdfast.tickets t using entry e
        where ticket_id is not null and t.tree = name and t.ticket_id = ticket_id
      ), left_behind as (
        update holdfast.trees x set fence = e.token, epoch = e.epoch, audit_seq = guard.audit_seq + 1, audit_hash = e.hash
        from entry e where x.tree = name
      )
      select json_build_object('kind', 'granted', 'now', g.created_ms,
        'grants', json_build_array(holdfast.grant_json(g::holdfast.grants, array[token])), 'ended', '[]'::json)
      into answer from granted g;
      if answer is null and ticket_id is null and wait_ms > 0 and modes[1] = 'write' then
        answer := holdfast.stand_behind(name, key, wait_ms, owner, holder_id, nonce, proof,
          -- As much as fits a notification, however it is escaped there.
          case when is_listening and lease_ms between 5000 and 60000
                 and octet_length(metadata || owner || holder_id || proof) <= 4000
                 and holdfast.profile_of(key, prefixes, names) <> 'strict'
            then json_build_object('resource', key, 'lock_id', lock_ids[1], 'schema_version', 1, 'mode', 'write',
              'owner', owner, 'holder_id', holder_id, 'nonce', nonce, 'lease_ms', lease_ms,
              'grace_ms', coalesce(grace_ms, lease_ms), 'renewals', 0, 'token_hash', token,
              'profile', holdfast.profile_of(key, prefixes, names), 'detached', detached, 'proof', proof,
              'metadata', metadata) end);
      end if;
      if answer is not null then return answer; end if;
    end if;
  end if;
  return holdfast.acquire_step(keys, owner, modes, lease_ms, wait_ms, metadata, token, ticket_id, permits, presented_keys,
    presented_tokens, holder_id, nonce, detached, grace_ms, proof, strict_order, must_steal, lock_ids, again, store);
end $$;

-- True when the ticket is the first that stands, and all in the tree want what it wants: to write this key.
create or replace function holdfast.is_first(name text, key text, mine text) returns boolean language plpgsql as $$
declare
  now bigint := holdfast.now_ms();
  first text;
begin
  if not holdfast.is_one_line(name, key) then return false; end if;
  select t.ticket_id into first from holdfast.tickets t where t.tree = name and holdfast.stands(t, now)
  order by t.number, t.ticket_id limit 1;
  return coalesce(first = mine, false);
end $$;

create or replace function holdfast.is_one_line(name text, key text) returns boolean language plpgsql as $$
begin
  return not exists (select 1 from holdfast.tickets t
    where t.tree = name and (t.upgrade_of is not null or t.wants <> array[(key, 'write', null)::holdfast.want]));
end $$;

-- A new place at the end of such a line, behind the one holder of the key; null when there is more to it than that.
create or replace function holdfast.stand_behind(
  name text, key text, wait_ms bigint, owner text, holder_id text, nonce text, proof text, offer json
) returns json language plpgsql as $$
#variable_conflict use_variable
declare
  now bigint := holdfast.now_ms();
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

-- What a client of ours sends. Anything else goes the long way, which says what is wrong with it.
create or replace function holdfast.is_plain(
  key text, owner text, mode text, lease_ms bigint, wait_ms bigint, metadata text, holder_id text, nonce text,
  lock_id text, proof text
) returns boolean language sql immutable as
$$ select coalesce(
     octet_length(key) <= 63 and key ~ '^[A-Za-z0-9._:@+=,~%-]+(/[A-Za-z0-9._:@+=,~%-]+)*$'
     and (strpos(key, '.') = 0 or key !~ '(^|/)\.\.?(/|$)')
     and length(owner) <= 208 and owner ~ '^(agent|job|service|user|admin):[^[:space:][:cntrl:]]+$'
     and mode in ('read', 'upgradeable', 'write')
     and lease_ms between 1000 and 86400000 and wait_ms between 0 and 86400000 and metadata is not null
     and holder_id <> '' and length(holder_id) <= 512 and length(nonce) <= 48 and nonce ~ '^[A-Za-z0-9._-]+$'
     and length(lock_id) = 36 and lock_id ~ '^[0-9a-f-]+$'
     and octet_length(proof) <= 1024 and json_typeof(proof::json) = 'object', false) $$;

create or replace function holdfast.release(
  keys text[], tokens text[], owner text, lock_ids text[] default '{}', holder_id text default null,
  store uuid default null
) returns boolean language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s'
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
begin
  perform holdfast.let_go(keys, tokens, owner, lock_ids, holder_id, store);
  return true;
end $$;

-- The same for a client that comes back with flush(): while others wait, it is seen by them at once, before it is on the
-- disk. Whoever is let in by it commits after it, so no grant outlives a crash that this does not. Tells what flush() needs
-- to know, or null when all is done.
create or replace function holdfast.hand_over(
  keys text[], tokens text[], owner text, lock_ids text[] default '{}', holder_id text default null,
  store uuid default null
) returns text language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s'
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
begin
  if not holdfast.let_go(keys, tokens, owner, lock_ids, holder_id, store) then return null; end if;
  perform set_config('synchronous_commit', 'off', true);
  return holdfast.epoch();
end $$;

-- Releases; true when somebody waits in one of the trees for what was released here.
create or replace function holdfast.let_go(
  keys text[], tokens text[], owner text, lock_ids text[], holder_id text, store uuid
) returns boolean language plpgsql as $$
#variable_conflict use_variable
declare
  key text := keys[1];
  name text := split_part(key, '/', 1);
  id text := lock_ids[1];
  known uuid;
  guard holdfast.trees;
  waited_for boolean;
begin
  if cardinality(keys) = 1 and id is not null and length(tokens[1]) = 43 and holder_id <> '' and length(holder_id) <= 512
     and length(owner) <= 208 and owner ~ '^(agent|job|service|user|admin):[^[:space:][:cntrl:]]+$'
     and current_setting('transaction_isolation') = 'read committed' then
    select s.store_id, t.audit_seq, t.audit_hash, t.publishing
    into known, guard.audit_seq, guard.audit_hash, guard.publishing
    from holdfast.store s, holdfast.trees t where t.tree = name for no key update of t;
    if known = store then
      waited_for := exists (select 1 from holdfast.tickets t where t.tree = name);
      with gone as (
        delete from holdfast.grants g
        where g.resource = key and g.lock_id = id and g.token_hash = tokens[1] and g.schema_version = 1
          and case when waited_for then g.mode = 'write' and g.permits is null and holdfast.is_one_line(name, key)
              and not exists (select 1 from holdfast.grants x
                where x.resource = any (holdfast.nodes_of(key)) and x.lock_id <> id)
              and not exists (select 1 from holdfast.grants x where x.resource > key || '/' and x.resource < key || '0')
            else not exists (select 1 from holdfast.grants x
                where x.resource > key || '/' and x.resource < key || '0' and x.cover = id)
              and not exists (select 1 from holdfast.grants x where x.resource = key and x.cover = id) end
        returning g.fencing_token, holdfast.now_ms() as now, '{"renewals":' || g.renewals || '}' as details
      ), entry as (
        select g.*, holdfast.entry_hash(holdfast.entry_body(guard.audit_seq + 1, g.now, 'released', key, owner, holder_id,
          g.fencing_token, id, g.details, guard.audit_hash)) as hash
        from gone g
      ), told as (
        insert into holdfast.audit
        select name, guard.audit_seq + 1, e.now, 'released', key, owner, holder_id, e.fencing_token, id, e.details, e.hash
        from entry e
      )
      update holdfast.trees x set audit_seq = guard.audit_seq + 1, audit_hash = e.hash from entry e where x.tree = name;
      if found then
        return waited_for and not holdfast.hand_to_first(name, guard.publishing = 0);
      end if;
    end if;
  end if;
  perform holdfast.release_step(keys, tokens, owner, lock_ids, holder_id, store);
  return exists (select 1 from holdfast.tickets t where t.tree = any (holdfast.trees_of(keys)));
end $$;

-- Tells the first in such a line that it may ask; or, when it listens and has shown itself in the last second, gives it the
-- key in this same step and tells it so. True when it was given: then everything is on the disk once this is committed.
--
-- A crash before the commit leaves the old holder, one after it the new one: whoever did not hear of it finds it when it asks
-- again by its place in line. A process that was killed listens no more, and is only told. One that was frozen or cut off
-- within that second has the key for a first lease of ten seconds at most; who takes it up renews it to all it asked for.
create or replace function holdfast.hand_to_first(name text, may_give boolean) returns boolean language plpgsql as $$
#variable_conflict use_variable
declare
  now bigint := holdfast.now_ms();
  t holdfast.tickets;
  g holdfast.grants;
  asked_ms bigint;
  answer json;
begin
  select * into t from holdfast.tickets x where x.tree = name and holdfast.stands(x, now)
  order by x.number, x.ticket_id limit 1;
  if not found then return false; end if;
  -- What publishers left in the tree is settled by who asks.
  if not may_give or t.offer is null or t.refreshed_ms + 1000 < now
     or pg_try_advisory_xact_lock_shared(holdfast.listener_of(t.nonce)) then
    perform pg_notify('holdfast_' || t.nonce, t.ticket_id);
    return false;
  end if;
  g := json_populate_record(null::holdfast.grants, t.offer);
  asked_ms := g.lease_ms;
  if not g.detached then g.lease_ms := least(g.lease_ms, 10000); end if;
  g.created_ms := now;
  g.renewed_ms := now;
  with fence as (
    select x.*, holdfast.epoch() as next_epoch, 1 + case when x.epoch = holdfast.epoch() then x.fence
        else greatest(x.fence, now) + 1000000000 end as token,
      '{"mode":"write","lease_ms":' || asked_ms || case when g.detached then ',"detached":true' else '' end
        || ',"handed_over":true,"first_lease_ms":' || g.lease_ms || '}' as details
    from holdfast.trees x where x.tree = name
  ), entry as (
    select f.*, holdfast.entry_hash(holdfast.entry_body(f.audit_seq + 1, now, 'granted', g.resource, g.owner, g.holder_id,
      f.token, g.lock_id, f.details, f.audit_hash)) as hash
    from fence f
  ), granted as (
    insert into holdfast.grants
    select g.resource, g.lock_id, 1, g.mode, null, g.owner, g.holder_id, g.nonce, now, now, g.lease_ms, g.grace_ms, 0,
      e.token, g.token_hash, g.profile, g.detached, null, g.proof, g.metadata
    from entry e returning *
  ), told as (
    insert into holdfast.audit
    select name, e.audit_seq + 1, now, 'granted', g.resource, g.owner, g.holder_id, e.token, g.lock_id, e.details, e.hash
    from entry e
  ), left_behind as (
    update holdfast.trees x set fence = e.token, epoch = e.next_epoch, audit_seq = e.audit_seq + 1, audit_hash = e.hash
    from entry e where x.tree = name
  )
  select json_build_object('kind', 'granted', 'now', now,
    'grants', json_build_array(holdfast.grant_json(x::holdfast.grants)), 'ended', '[]'::json)
  into answer from granted x;
  delete from holdfast.tickets x where x.tree = name and x.ticket_id = t.ticket_id;
  -- Anybody may hear this: the secret of the grant is not in it.
  perform pg_notify('holdfast_' || t.nonce, t.ticket_id || ' ' || answer);
  return true;
end $$;

-- The advisory lock that a session holds while it listens for a client.
create or replace function holdfast.listener_of(nonce text) returns bigint language sql immutable as
$$ select hashtextextended('holdfast_' || nonce, 0) $$;

-- Takes over from a holder that is gone, in one step.
create or replace function holdfast.steal(
  keys text[], owner text, modes text[] default '{write}', lease_ms bigint default 30000, metadata text default '{}'
) returns json language sql as
$$ select holdfast.acquire(keys, owner, modes, lease_ms, 0, metadata, must_steal => true) $$;
