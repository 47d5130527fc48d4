-- Acquires: decides, then grants everything or nothing. A recoverable grant that blocks is stolen. One call is one step:
--   guard rows locked → clock read → decided → fences minted, grants, ended grants and audit entries written → commit
-- A crash before the commit leaves nothing; after it, everything. A client that does not learn the outcome calls again with
-- the same lock_ids and `again`, and gets the answer of the first call.
create or replace function holdfast.acquire_step(
  keys text[], owner text, modes text[], lease_ms bigint, wait_ms bigint, metadata text, token text, ticket_id text,
  permits integer[], presented_keys text[], presented_tokens text[], holder_id text, nonce text, detached boolean,
  grace_ms bigint, proof text, strict_order boolean, must_steal boolean, lock_ids text[], again boolean, store uuid
) returns json language plpgsql as $$
#variable_conflict use_variable
declare
  st holdfast.store := holdfast.the_store(store);
  wants holdfast.want[] := holdfast.wants_of(keys, modes, permits);
  secret text := coalesce(token, holdfast.new_token());
  seal text := holdfast.seal(secret);
  presented text[] := holdfast.seals(presented_tokens);
  holds text[];
  names text[] := holdfast.trees_of(keys);
  guards holdfast.trees[];
  now bigint;
  near holdfast.neighbourhood;
  tickets holdfast.tickets[];
  mine holdfast.tickets;
  d holdfast.decision;
  grants holdfast.grants[];
  others holdfast.grants[] := '{}';
begin
  holder_id := holdfast.checked_holder(owner, holder_id);
  perform holdfast.check_duration(lease_ms, 'ttl', 1000, 86400000);
  perform holdfast.check_duration(wait_ms, 'wait', 0, 86400000);
  if metadata <> '{}' or metadata is null then perform holdfast.check_metadata(metadata); end if;
  nonce := holdfast.checked_nonce(nonce);
  perform holdfast.check_ids(lock_ids, ticket_id, proof);

  guards := holdfast.enter(names);
  now := holdfast.now_ms();
  -- Who stands in line may have been given it meanwhile, by whoever released it. Its lease begins when it hears of it.
  if again or ticket_id is not null then
    grants := holdfast.take_up(holdfast.granted_before(keys, lock_ids, seal), lease_ms, now);
    if cardinality(grants) = cardinality(keys) then
      delete from holdfast.tickets x where x.tree = any (names) and x.ticket_id = ticket_id;
      return json_build_object('kind', 'granted', 'now', now, 'grants', holdfast.grants_json(grants, array[seal]),
        'ended', '[]'::json, 'left', holdfast.left_on(guards, keys));
    end if;
  end if;
  near := holdfast.near(keys);
  tickets := holdfast.near_tickets(names, keys);
  mine := holdfast.ticket_at(tickets, ticket_id);
  holds := holdfast.proven(presented_keys, presented);
  d := holdfast.decide(near, tickets, wants, presented, holds, mine, null, strict_order, now, st.levels);
  if d.kind = 'refuse' then perform holdfast.refused(d, wants, tickets, now); end if;
  if d.kind = 'wait' then
    return holdfast.stand_in_line(names, tickets, wants, d.holders, mine, ticket_id, wait_ms, owner, holder_id, nonce,
      proof, null, now);
  end if;
  if must_steal and cardinality(d.ends) = 0 then
    perform holdfast.fail('E_NOT_FOUND', 'there is no stale lock on ' || array_to_string(keys, ', ') || ' to steal',
      '{}', 'Acquire it: it is free.');
  end if;

  -- First of all, for one of them may be what this very request was given before, and did not hear of in time.
  perform holdfast.drop_grants(d.ends);
  if cardinality(d.ends) > 0 then
    select x.guards, x.others into guards, others
    from holdfast.end_other_names(guards, d.ends, 'stolen', owner, holder_id, now) x;
  end if;
  select x.guards, x.grants into guards, grants
  from holdfast.issue(guards, wants, d.covers, st, lock_ids, owner, holder_id, nonce, now, lease_ms,
    coalesce(grace_ms, lease_ms), seal, detached, proof, metadata) x;
  guards := holdfast.audit_grants(guards, grants, d.ends, owner, holder_id, now);
  if mine.ticket_id is not null then
    delete from holdfast.tickets x where x.tree = any (names) and x.ticket_id = mine.ticket_id;
  end if;
  perform holdfast.leave_guard(guards);
  perform holdfast.wake_after(tickets, near.grants, d.ends || others, grants, mine.ticket_id, now);
  return json_build_object('kind', 'granted', 'now', now, 'grants', holdfast.grants_json(grants, array[seal]),
    'ended', holdfast.grants_json(d.ends || others), 'left', holdfast.left_on(guards, keys),
    'lease_token', case when token is null then secret end);
end $$;

-- Fences are minted in the global order, answers come in the order asked for.
create or replace function holdfast.issue(
  inout guards holdfast.trees[], wants holdfast.want[], covers holdfast.grants[], st holdfast.store, lock_ids text[],
  owner text, holder_id text, nonce text, now bigint, lease_ms bigint, grace_ms bigint, seal text, detached boolean,
  proof text, metadata text, out grants holdfast.grants[]
) language plpgsql as $$
#variable_conflict use_variable
declare
  fences bigint[] := array_fill(0::bigint, array[cardinality(wants)]);
  sorted integer[] := '{1}';
  at integer;
  fence bigint;
  g holdfast.grants;
begin
  if cardinality(wants) > 1 then
    sorted := array(select i from generate_subscripts(wants, 1) i
      order by holdfast.rank(wants[i].resource, st.levels), wants[i].resource collate "C");
  end if;
  foreach at in array sorted loop
    fence := covers[at].fencing_token;
    if fence is null then
      select x.guards, x.token into guards, fence from holdfast.mint(guards, wants[at].resource, now) x;
    end if;
    fences[at] := fence;
  end loop;
  grants := '{}';
  for at in 1 .. cardinality(wants) loop
    g.resource := wants[at].resource;
    g.lock_id := coalesce(lock_ids[at], gen_random_uuid()::text);
    g.schema_version := 1;
    g.mode := wants[at].mode;
    g.permits := wants[at].permits;
    g.owner := owner;
    g.holder_id := holder_id;
    g.nonce := nonce;
    g.created_ms := now;
    g.renewed_ms := now;
    g.lease_ms := lease_ms;
    g.grace_ms := grace_ms;
    g.renewals := 0;
    g.fencing_token := fences[at];
    g.token_hash := seal;
    g.profile := holdfast.profile_of(g.resource, st.profile_prefixes, st.profile_names);
    g.detached := detached;
    g.cover := covers[at].lock_id;
    g.proof := proof;
    g.metadata := metadata;
    g.login := session_user;
    if g.profile = 'strict' and proof::json ->> 'kind' = 'none' then
      perform holdfast.fail('E_INVALID_ARGUMENT', 'detached: ' || g.resource ||
        ' has the profile strict, which only proof of death ends; a detached grant has no process',
        '{"field":"detached"}', 'Bind it to a process (`pid`) or hold it from one.');
    end if;
    insert into holdfast.grants values (g.*);
    grants := grants || g;
  end loop;
end $$;

create or replace function holdfast.audit_grants(
  inout guards holdfast.trees[], grants holdfast.grants[], ends holdfast.grants[], owner text, holder_id text, now bigint
) language plpgsql as $$
#variable_conflict use_variable
declare
  shared text := case when cardinality(guards) > 1 then holdfast.shared(holdfast.keys_of(grants)) else '' end;
  g holdfast.grants;
  taker holdfast.grants;
  details text;
begin
  foreach g in array ends loop
    select * into taker from unnest(grants) x where holdfast.tree_of(x.resource) = holdfast.tree_of(g.resource) limit 1;
    guards := holdfast.append(guards, now, 'stolen', g.resource, owner, holder_id, g.fencing_token, g.lock_id,
      '{' || shared || holdfast.recovery(g, now) || ',"previous":' || holdfast.previous_holder(g) ||
      ',"old_fencing_token":' || g.fencing_token || ',"new_fencing_token":' ||
      coalesce(taker.fencing_token::text, 'null') || ',"by_lock_id":' || coalesce('"' || taker.lock_id || '"', 'null') || '}');
  end loop;
  foreach g in array grants loop
    details := '{' || shared || '"mode":"' || g.mode || '","lease_ms":' || g.lease_ms
      || coalesce(',"permits":' || g.permits, '') || case when g.detached then ',"detached":true' else '' end
      || coalesce(',"nested_in":"' || g.cover || '"', '') || '}';
    guards := holdfast.append(guards, now, 'granted', g.resource, owner, holder_id, g.fencing_token, g.lock_id, details);
  end loop;
end $$;

create or replace function holdfast.drop_grants(gone holdfast.grants[]) returns void language plpgsql as $$
declare
  g holdfast.grants;
begin
  foreach g in array gone loop
    delete from holdfast.grants x where x.resource = g.resource and x.lock_id = g.lock_id;
  end loop;
end $$;

-- What an earlier try of the same request was given.
create or replace function holdfast.granted_before(keys text[], lock_ids text[], seal text) returns holdfast.grants[]
language sql stable as
$$ select coalesce(array_agg(g order by array_position(lock_ids, g.lock_id)), '{}') from holdfast.grants g
   where g.resource = any (keys) and g.lock_id = any (lock_ids) and g.token_hash = seal $$;

-- Renews them from now on for as long as was asked for; none where one has run out, for then it may be somebody else's turn.
create or replace function holdfast.take_up(given holdfast.grants[], lease_ms bigint, now bigint) returns holdfast.grants[]
language plpgsql as $$
#variable_conflict use_variable
declare
  g holdfast.grants;
  grants holdfast.grants[] := '{}';
begin
  if exists (select 1 from unnest(given) x where holdfast.is_expired(x, now)) then return '{}'; end if;
  foreach g in array given loop
    update holdfast.grants x set renewed_ms = now, lease_ms = lease_ms
    where x.resource = g.resource and x.lock_id = g.lock_id
    returning x.* into g;
    grants := grants || g;
  end loop;
  return grants;
end $$;
