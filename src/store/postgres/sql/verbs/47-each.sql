-- Several acquires or releases of one client in one step, each on a tree of its own: the main cost of a call, its
-- statements and its commit, is paid once for all of them.
--   guard rows locked → clock read → those that are simple written, with audit entries, fences and chains → commit
-- The others are not in the answer, and nothing was done for them: their client sends each of them alone. The step waits for
-- no other session, because that would hold up the rest: it passes over a guard or a grant that is locked.
--
-- It is one transaction: a crash before the commit leaves nothing of it, one after it everything. A client that does not
-- learn the outcome sends it again, and then finds each by its id, as after a lost answer to `take` or `hand_over`.

-- By lock id, what `take` would have answered.
create or replace function holdfast.take_each(
  keys text[], tokens text[], lock_ids text[], owner text, mode text, lease_ms bigint, grace_ms bigint, holder_id text,
  nonce text, proof text, detached boolean, store uuid
) returns json language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s'
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_variable
declare
  guards holdfast.trees[] := holdfast.free_guards(keys);
  now bigint := holdfast.now_ms();
  epoch text := holdfast.epoch();
  details text := holdfast.by_login('{"mode":"' || mode || '","lease_ms":' || lease_ms
    || case when detached then ',"detached":true}' else '}' end);
  answer json;
begin
  with step as materialized (
    select a.key, a.token, a.lock_id, g.tree, g.audit_seq + 1 as seq, g.audit_hash as before,
      holdfast.next_fence(g.fence, g.epoch, epoch, now) as fence,
      holdfast.profile_of(a.key, s.profile_prefixes, s.profile_names) as profile
    from unnest(keys, tokens, lock_ids) as a (key, token, lock_id)
      join unnest(guards) as g on g.tree = split_part(a.key, '/', 1)
      join holdfast.store s on s.store_id = store
    where g.publishing = 0 and length(a.token) = 50
      and holdfast.is_plain(a.key, owner, mode, lease_ms, 0, '{}', holder_id, nonce, a.lock_id, proof)
      and holdfast.profile_of(a.key, s.profile_prefixes, s.profile_names) <> 'strict'
      and not exists (select 1 from holdfast.grants x where x.resource = any (holdfast.nodes_of(a.key)))
      and not exists (select 1 from holdfast.grants x where x.resource > a.key || '/' and x.resource < a.key || '0')
      and not exists (select 1 from holdfast.tickets x where x.tree = g.tree)
  ), given as (
    insert into holdfast.grants
    select s.key, s.lock_id, 1, mode, null, owner, holder_id, nonce, now, now, lease_ms, coalesce(grace_ms, lease_ms), 0, s.fence,
      holdfast.seal(s.token), s.profile, detached, null, proof, '{}'
    from step s
  ), entries as (
    insert into holdfast.audit
    select s.tree, s.seq, now, 'granted', s.key, owner, holder_id, s.fence, s.lock_id, details,
      holdfast.entry_hash(holdfast.entry_body(s.seq, now, 'granted', s.key, owner, holder_id, s.fence, s.lock_id, details, s.before))
    from step s
    returning tree, seq, fencing_token, lock_id, hash
  ), left_guards as (
    update holdfast.trees t set fence = e.fencing_token, epoch = epoch, audit_seq = e.seq, audit_hash = e.hash
    from entries e where t.tree = e.tree
  )
  select json_object_agg(s.lock_id, holdfast.taken(now, s.fence, lease_ms, s.profile)) into answer from step s;
  return coalesce(answer, '{}');
end $$;

-- The lock ids of what was released: what nobody waits for, and nothing nests in.
create or replace function holdfast.release_each(
  keys text[], tokens text[], lock_ids text[], owner text, holder_id text, store uuid
) returns json language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s'
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_variable
declare
  guards holdfast.trees[] := holdfast.free_guards(keys);
  now bigint := holdfast.now_ms();
  answer json;
begin
  holder_id := holdfast.checked_holder(owner, holder_id);
  with step as materialized (
    select x.resource, x.lock_id, x.fencing_token, g.tree, g.audit_seq + 1 as seq, g.audit_hash as before,
      holdfast.by_login('{"renewals":' || x.renewals || '}') as details
    from unnest(keys, tokens, lock_ids) as a (key, token, lock_id)
      join unnest(guards) as g on g.tree = split_part(a.key, '/', 1)
      join holdfast.store s on s.store_id = store
      join holdfast.grants x on x.resource = a.key and x.lock_id = a.lock_id
    where x.token_hash = holdfast.seal(a.token) and x.schema_version = 1
      and not exists (select 1 from holdfast.tickets t where t.tree = g.tree)
      and not exists (select 1 from holdfast.grants y
        where y.resource > x.resource || '/' and y.resource < x.resource || '0' and y.cover = x.lock_id)
      and not exists (select 1 from holdfast.grants y where y.resource = x.resource and y.cover = x.lock_id)
    for update of x skip locked
  ), gone as (
    delete from holdfast.grants x using step s where x.resource = s.resource and x.lock_id = s.lock_id
  ), entries as (
    insert into holdfast.audit
    select s.tree, s.seq, now, 'released', s.resource, owner, holder_id, s.fencing_token, s.lock_id, s.details,
      holdfast.entry_hash(holdfast.entry_body(s.seq, now, 'released', s.resource, owner, holder_id, s.fencing_token, s.lock_id,
        s.details, s.before))
    from step s
    returning tree, seq, hash
  ), left_guards as (
    update holdfast.trees t set audit_seq = e.seq, audit_hash = e.hash from entries e where t.tree = e.tree
  )
  select json_agg(s.lock_id) into answer from step s;
  return coalesce(answer, '[]');
end $$;

-- The guards of these keys that are to be had at once.
create or replace function holdfast.free_guards(keys text[]) returns holdfast.trees[] language plpgsql as $$
declare
  silence text := holdfast.limit_silence();
begin
  if current_setting('transaction_isolation') <> 'read committed' then return '{}'; end if;
  return array(select t from holdfast.trees t
    where t.tree = any (array(select split_part(key, '/', 1) from unnest(keys) key)) for no key update skip locked);
end $$;
