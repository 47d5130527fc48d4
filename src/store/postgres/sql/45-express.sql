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
  now bigint;
  g holdfast.grants;
begin
  if cardinality(keys) = 1 and cardinality(presented_keys) = 0 and ticket_id is null and lock_ids[1] is not null
     and length(token) = 43 and permits[1] is null and not (again or must_steal)
     and current_setting('transaction_isolation') = 'read committed' then
    select s.store_id, s.profile_prefixes, s.profile_names, t.tree, t.fence, t.epoch, t.audit_seq, t.audit_hash
    into known, prefixes, names, guard.tree, guard.fence, guard.epoch, guard.audit_seq, guard.audit_hash
    from holdfast.store s, holdfast.trees t where t.tree = name for no key update of t;
    if known = store and holdfast.is_untouched(key, name) then
      perform holdfast.check_acquire(key, owner, modes[1], lease_ms, wait_ms, metadata, holder_id, nonce, lock_ids, proof);
      g.profile := holdfast.profile_of(key, prefixes, names);
      if g.profile <> 'strict' then
        now := holdfast.now_ms();
        g.resource := key; g.lock_id := lock_ids[1]; g.schema_version := 1; g.mode := modes[1]; g.owner := owner;
        g.holder_id := holder_id; g.nonce := nonce; g.created_ms := now; g.renewed_ms := now; g.lease_ms := lease_ms;
        g.grace_ms := coalesce(grace_ms, lease_ms); g.renewals := 0; g.token_hash := token; g.detached := detached;
        g.proof := proof; g.metadata := metadata;
        if guard.epoch <> holdfast.epoch() then
          guard.epoch := holdfast.epoch();
          guard.fence := greatest(guard.fence, now) + 1000000000;
        end if;
        guard.fence := guard.fence + 1;
        g.fencing_token := guard.fence;
        perform holdfast.write_one(guard, now, 'granted', g, owner, holder_id, '{"mode":"' || g.mode || '","lease_ms":' ||
          lease_ms || case when detached then ',"detached":true}' else '}' end);
        return json_build_object('kind', 'granted', 'now', now, 'grants', json_build_array(holdfast.grant_json(g, array[token])),
          'ended', '[]'::json);
      end if;
    end if;
  end if;
  return holdfast.acquire_step(keys, owner, modes, lease_ms, wait_ms, metadata, token, ticket_id, permits, presented_keys,
    presented_tokens, holder_id, nonce, detached, grace_ms, proof, strict_order, must_steal, lock_ids, again, store);
end $$;

-- Nothing is held on the key, above it or below it, and nobody waits in its tree. Under the guard.
create or replace function holdfast.is_untouched(key text, name text) returns boolean language plpgsql volatile as $$
begin
  return not exists (select 1 from holdfast.tickets t where t.tree = name)
    and not exists (select 1 from holdfast.grants x where x.resource > key || '/' and x.resource < key || '0')
    and not exists (select 1 from holdfast.grants x where x.resource = any (holdfast.nodes_of(key)));
end $$;

create or replace function holdfast.check_acquire(
  key text, owner text, mode text, lease_ms bigint, wait_ms bigint, metadata text, holder_id text, nonce text,
  lock_ids text[], proof text
) returns void language plpgsql as $$
begin
  perform holdfast.check_key(key);
  perform holdfast.check_owner(owner);
  if mode not in ('read', 'upgradeable', 'write') then
    perform holdfast.invalid('mode', mode || ' is none of read, upgradeable, write');
  end if;
  if lease_ms is null or lease_ms not between 1000 and 86400000 then
    perform holdfast.check_duration(lease_ms, 'ttl', 1000, 86400000);
  end if;
  if wait_ms is null or wait_ms not between 0 and 86400000 then
    perform holdfast.check_duration(wait_ms, 'wait', 0, 86400000);
  end if;
  if metadata <> '{}' or metadata is null then perform holdfast.check_metadata(metadata); end if;
  if holder_id is null or holder_id = '' or length(holder_id) > 512 then
    perform holdfast.invalid('holder_id', 'from 1 to 512 characters');
  end if;
  if nonce is null or nonce !~ '^[A-Za-z0-9._-]+$' or length(nonce) > 48 then
    perform holdfast.invalid('nonce', 'up to 48 letters, digits, dots and dashes');
  end if;
  perform holdfast.check_ids(lock_ids, null, proof);
end $$;

-- One grant comes or goes, with its entry, the tree's fence and the head of its chain, in one statement.
create or replace function holdfast.write_one(
  guard holdfast.trees, now bigint, event text, g holdfast.grants, owner text, holder_id text, details text
) returns void language plpgsql as $$
#variable_conflict use_variable
declare
  seq bigint := guard.audit_seq + 1;
  hash text := holdfast.entry_hash(holdfast.entry_body(seq, now, event, g.resource, owner, holder_id, g.fencing_token,
    g.lock_id, details, guard.audit_hash));
begin
  if event = 'granted' then
    insert into holdfast.grants values (g.*);
  else
    delete from holdfast.grants x where x.resource = g.resource and x.lock_id = g.lock_id;
  end if;
  with entry as (
    insert into holdfast.audit
    values (guard.tree, seq, now, event, g.resource, owner, holder_id, g.fencing_token, g.lock_id, details, hash)
  )
  update holdfast.trees x set fence = guard.fence, epoch = guard.epoch, audit_seq = seq, audit_hash = hash
  where x.tree = guard.tree;
end $$;

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
  g holdfast.grants;
begin
  if cardinality(keys) = 1 and id is not null and length(tokens[1]) = 43 and holder_id is not null
     and current_setting('transaction_isolation') = 'read committed' then
    select s.store_id, t.tree, t.fence, t.epoch, t.audit_seq, t.audit_hash
    into known, guard.tree, guard.fence, guard.epoch, guard.audit_seq, guard.audit_hash
    from holdfast.store s, holdfast.trees t where t.tree = name for no key update of t;
    if known = store then
      select * into g from holdfast.grants x where x.resource = key and x.lock_id = id and x.token_hash = tokens[1];
      if g.schema_version = 1 and not exists (select 1 from holdfast.tickets t where t.tree = name) and not exists (
           select 1 from holdfast.grants x where x.resource > key || '/' and x.resource < key || '0' and x.cover = id)
         and not exists (select 1 from holdfast.grants x where x.resource = key and x.cover = id) then
        perform holdfast.check_owner(owner);
        perform holdfast.holder_or_backend(holder_id);
        perform holdfast.write_one(guard, holdfast.now_ms(), 'released', g, owner, holder_id,
          '{"renewals":' || g.renewals || '}');
        return true;
      end if;
    end if;
  end if;
  return holdfast.release_step(keys, tokens, owner, lock_ids, holder_id, store);
end $$;

-- Takes over from a holder that is gone, in one step.
create or replace function holdfast.steal(
  keys text[], owner text, modes text[] default '{write}', lease_ms bigint default 30000, metadata text default '{}'
) returns json language sql as
$$ select holdfast.acquire(keys, owner, modes, lease_ms, 0, metadata, must_steal => true) $$;
