-- The calls that come in most often, on a key that nobody else holds or waits for: the same steps in fewer statements. What
-- is not as simple as that goes the long way, under the same guard.

create or replace function holdfast.acquire(
  keys text[], owner text, modes text[] default '{write}', lease_ms bigint default 30000, wait_ms bigint default 0,
  metadata text default '{}', token text default null, ticket_id text default null, permits integer[] default '{}',
  presented_keys text[] default '{}', presented_tokens text[] default '{}', holder_id text default null,
  nonce text default null, detached boolean default true, grace_ms bigint default null,
  proof text default '{"kind":"none"}', strict_order boolean default false, must_steal boolean default false,
  lock_ids text[] default null, again boolean default false, store uuid default null
) returns json language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s' as $$
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
  if cardinality(keys) = 1 and cardinality(presented_keys) = 0 and ticket_id is null and length(token) = 43
     and permits[1] is null and not (again or must_steal)
     and holdfast.is_plain(key, owner, modes[1], lease_ms, wait_ms, metadata, holder_id, nonce, lock_ids[1], proof)
     and current_setting('transaction_isolation') = 'read committed' then
    select s.store_id, s.profile_prefixes, s.profile_names, t.fence, t.epoch, t.audit_seq, t.audit_hash
    into known, prefixes, names, guard.fence, guard.epoch, guard.audit_seq, guard.audit_hash
    from holdfast.store s, holdfast.trees t where t.tree = name for no key update of t;
    if known = store then
      if metadata <> '{}' then perform holdfast.check_metadata(metadata); end if;
      -- From here on a new statement, which sees what was committed while the guard was waited for.
      with moment as (
        select holdfast.now_ms() as now, holdfast.epoch() as epoch,
          holdfast.profile_of(key, prefixes, names) as profile
        where not exists (select 1 from holdfast.tickets t where t.tree = name)
          and not exists (select 1 from holdfast.grants x where x.resource > key || '/' and x.resource < key || '0')
          and not exists (select 1 from holdfast.grants x where x.resource = any (holdfast.nodes_of(key)))
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
      ), left_behind as (
        update holdfast.trees x set fence = e.token, epoch = e.epoch, audit_seq = guard.audit_seq + 1, audit_hash = e.hash
        from entry e where x.tree = name
      )
      select json_build_object('kind', 'granted', 'now', g.created_ms,
        'grants', json_build_array(holdfast.grant_json(g::holdfast.grants, array[token])), 'ended', '[]'::json)
      into answer from granted g;
      if answer is not null then return answer; end if;
    end if;
  end if;
  return holdfast.acquire_step(keys, owner, modes, lease_ms, wait_ms, metadata, token, ticket_id, permits, presented_keys,
    presented_tokens, holder_id, nonce, detached, grace_ms, proof, strict_order, must_steal, lock_ids, again, store);
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
) returns boolean language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s' as $$
#variable_conflict use_variable
declare
  key text := keys[1];
  name text := split_part(key, '/', 1);
  id text := lock_ids[1];
  known uuid;
  guard holdfast.trees;
begin
  if cardinality(keys) = 1 and id is not null and length(tokens[1]) = 43 and holder_id <> '' and length(holder_id) <= 512
     and length(owner) <= 208 and owner ~ '^(agent|job|service|user|admin):[^[:space:][:cntrl:]]+$'
     and current_setting('transaction_isolation') = 'read committed' then
    select s.store_id, t.audit_seq, t.audit_hash into known, guard.audit_seq, guard.audit_hash
    from holdfast.store s, holdfast.trees t where t.tree = name for no key update of t;
    if known = store then
      with gone as (
        delete from holdfast.grants g
        where g.resource = key and g.lock_id = id and g.token_hash = tokens[1] and g.schema_version = 1
          and not exists (select 1 from holdfast.tickets t where t.tree = name)
          and not exists (select 1 from holdfast.grants x
            where x.resource > key || '/' and x.resource < key || '0' and x.cover = id)
          and not exists (select 1 from holdfast.grants x where x.resource = key and x.cover = id)
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
      if found then return true; end if;
    end if;
  end if;
  return holdfast.release_step(keys, tokens, owner, lock_ids, holder_id, store);
end $$;

-- Takes over from a holder that is gone, in one step.
create or replace function holdfast.steal(
  keys text[], owner text, modes text[] default '{write}', lease_ms bigint default 30000, metadata text default '{}'
) returns json language sql as
$$ select holdfast.acquire(keys, owner, modes, lease_ms, 0, metadata, must_steal => true) $$;
