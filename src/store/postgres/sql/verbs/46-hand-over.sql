-- Releases a key, and grants it to the next waiter in the same step:
--   guard row locked → grant deleted → first waiter chosen → its grant, both audit entries, fence and chain → commit → notify

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

-- Releases; true when somebody waits in one of the trees for what was released here, and was not given it.
create or replace function holdfast.let_go(
  keys text[], tokens text[], owner text, lock_ids text[], holder_id text, store uuid
) returns boolean language plpgsql as $$
#variable_conflict use_variable
declare
  key text := keys[1];
  name text := split_part(key, '/', 1);
  id text := lock_ids[1];
  seal text;
  known uuid;
  guard holdfast.trees;
  waited_for boolean;
  gone record;
  handed record;
  now bigint;
  details text;
  silence text := holdfast.limit_silence();
begin
  if cardinality(keys) = 1 and id is not null and length(tokens[1]) = 50 and holder_id <> '' and length(holder_id) <= 512
     and length(owner) <= 208 and owner ~ '^(agent|job|service|user|admin):[^[:space:][:cntrl:]]+$'
     and current_setting('transaction_isolation') = 'read committed' then
    select s.store_id, t.fence, t.epoch, t.audit_seq, t.audit_hash, t.publishing
    into known, guard.fence, guard.epoch, guard.audit_seq, guard.audit_hash, guard.publishing
    from holdfast.store s, holdfast.trees t where t.tree = name for no key update of t;
    if known = store then
      seal := holdfast.seal(tokens[1]);
      waited_for := exists (select 1 from holdfast.tickets t where t.tree = name);
      if waited_for then
        delete from holdfast.grants g
        where g.resource = key and g.lock_id = id and g.token_hash = seal and g.schema_version = 1
          and g.mode = 'write' and g.permits is null and holdfast.is_one_line(name, key)
          and not exists (select 1 from holdfast.grants x
            where x.resource = any (holdfast.nodes_of(key)) and x.lock_id <> id)
          and not exists (select 1 from holdfast.grants x where x.resource > key || '/' and x.resource < key || '0')
        returning g.fencing_token, g.renewals into gone;
      else
        delete from holdfast.grants g
        where g.resource = key and g.lock_id = id and g.token_hash = seal and g.schema_version = 1
          and not exists (select 1 from holdfast.grants x
            where x.resource > key || '/' and x.resource < key || '0' and x.cover = id)
          and not exists (select 1 from holdfast.grants x where x.resource = key and x.cover = id)
        returning g.fencing_token, g.renewals into gone;
      end if;
      if found then
        now := holdfast.now_ms();
        details := holdfast.by_login('{"renewals":' || gone.renewals || '}');
        guard.audit_seq := guard.audit_seq + 1;
        guard.audit_hash := holdfast.entry_hash(holdfast.entry_body(guard.audit_seq, now, 'released', key, owner, holder_id,
          gone.fencing_token, id, details, guard.audit_hash));
        insert into holdfast.audit values (name, guard.audit_seq, now, 'released', key, owner, holder_id, gone.fencing_token,
          id, details, guard.audit_hash);
        if waited_for then
          guard.tree := name;
          handed := holdfast.hand_to_first(guard, now);
          guard := handed.after;
          waited_for := not handed.given;
        end if;
        update holdfast.trees t set fence = guard.fence, epoch = guard.epoch, audit_seq = guard.audit_seq,
          audit_hash = guard.audit_hash
        where t.tree = name;
        return waited_for;
      end if;
    end if;
  end if;
  perform holdfast.release_step(keys, tokens, owner, lock_ids, holder_id, store);
  return exists (select 1 from holdfast.tickets t where t.tree = any (holdfast.trees_of(keys)));
end $$;

-- Tells the first in such a line that it may ask; or, when it listens and has shown itself in the last second, gives it the
-- key in this same step and tells it so. When it was given, everything is on the disk once this is committed.
--
-- A crash before the commit leaves the old holder, one after it the new one: whoever did not hear of it finds it when it asks
-- again by its place in line. A process that was killed listens no more, and is only told. One that was frozen or cut off
-- within that second has the key for a first lease of ten seconds at most; who takes it up renews it to all it asked for.
create or replace function holdfast.hand_to_first(guard holdfast.trees, now bigint, out after holdfast.trees, out given boolean)
language plpgsql as $$
#variable_conflict use_variable
declare
  t holdfast.tickets;
  g holdfast.grants;
  details text;
  answer text;
begin
  after := guard;
  given := false;
  select * into t from holdfast.tickets x where x.tree = guard.tree and holdfast.stands(x, now)
  order by x.number, x.ticket_id limit 1;
  if not found then return; end if;
  -- What publishers left in the tree is settled by who asks.
  if guard.publishing <> 0 or t.offer is null or t.refreshed_ms + 1000 < now
     or pg_try_advisory_xact_lock_shared(holdfast.listener_of(t.nonce)) then
    perform pg_notify('holdfast_' || t.nonce, t.ticket_id);
    return;
  end if;
  g := json_populate_record(null::holdfast.grants, t.offer);
  details := '{"mode":"write","lease_ms":' || g.lease_ms || case when g.detached then ',"detached":true' else '' end;
  if not g.detached then g.lease_ms := least(g.lease_ms, 10000); end if;
  details := holdfast.by_login(details || ',"handed_over":true,"first_lease_ms":' || g.lease_ms || '}', t.login);
  after.epoch := holdfast.epoch();
  after.fence := holdfast.next_fence(guard.fence, guard.epoch, after.epoch, now);
  after.audit_seq := guard.audit_seq + 1;
  after.audit_hash := holdfast.entry_hash(holdfast.entry_body(after.audit_seq, now, 'granted', g.resource, g.owner,
    g.holder_id, after.fence, g.lock_id, details, guard.audit_hash));
  insert into holdfast.grants values (g.resource, g.lock_id, 1, 'write', null, g.owner, g.holder_id, g.nonce, now, now,
    g.lease_ms, g.grace_ms, 0, after.fence, g.token_hash, g.profile, g.detached, null, g.proof, g.metadata, t.login);
  insert into holdfast.audit values (guard.tree, after.audit_seq, now, 'granted', g.resource, g.owner, g.holder_id,
    after.fence, g.lock_id, details, after.audit_hash);
  delete from holdfast.tickets x where x.tree = guard.tree and x.ticket_id = t.ticket_id;
  answer := holdfast.taken(now, after.fence, g.lease_ms, g.profile);
  perform pg_notify('holdfast_' || t.nonce, t.ticket_id || ' ' || holdfast.signed(answer, t.ticket_id, g.token_hash) || ' ' || answer);
  given := true;
end $$;

-- Every session may send and hear notifications. The seal of the waiter's token is known to the waiter and the server alone,
-- and is not in the notification: with it the waiter checks that the server wrote this.
create or replace function holdfast.signed(answer text, ticket_id text, seal text) returns text language sql stable as
$$ select encode(sha256(convert_to(seal || ' ' || ticket_id || ' ' || answer, 'UTF8')), 'hex') $$;

-- The advisory lock that a session holds while it listens for a client.
create or replace function holdfast.listener_of(nonce text) returns bigint language sql immutable as
$$ select hashtextextended('holdfast_' || nonce, 0) $$;
