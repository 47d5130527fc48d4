-- The fence: checks whether a fencing token is current, and whether a lease token may write.

-- The live grant with this number on the resource or above it. Passing does not use it up.
create or replace function holdfast.verify(key text, fencing_token bigint, store uuid default null) returns json
language plpgsql security definer set search_path = holdfast, pg_temp as $$
#variable_conflict use_variable
declare
  st holdfast.store := holdfast.the_store(store);
  now bigint;
  near holdfast.neighbourhood;
  g holdfast.grants;
  held holdfast.grants[] := '{}';
  lapsed holdfast.grants;
begin
  perform holdfast.check_key(key);
  near := holdfast.near(array[key]);
  now := holdfast.now_ms();
  foreach g in array near.grants loop
    -- A permit covers no subtree.
    continue when not holdfast.within(key, g.resource) or (g.permits is not null and g.resource <> key);
    held := held || g;
    if g.fencing_token = fencing_token then
      if not holdfast.is_expired(g, now) then return json_build_object('now', now, 'grants', json_build_array(holdfast.grant_json(g))); end if;
      if lapsed.lock_id is null then lapsed := g; end if;
    end if;
  end loop;
  if lapsed.lock_id is not null then perform holdfast.expired(lapsed); end if;
  if cardinality(held) = 0 then perform holdfast.not_held(key, 'nothing is held on ' || key); end if;
  perform holdfast.mismatch(key, held);
end $$;

-- The check of a mutation, for a transaction that writes rows of its own: from here to its end the grants cannot be taken
-- over (their rows are locked), released or lowered, only renewed. Each must be current, unexpired and a write. When the
-- client falls silent for `max_ms` the server ends the transaction, and with it the protection. Tells by what transaction_outcome
-- knows it.
create or replace function holdfast.assert_fence(
  keys text[], tokens text[], lock_ids text[] default '{}', max_ms integer default 5000, store uuid default null
) returns text language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s' as $$
#variable_conflict use_variable
declare
  st holdfast.store := holdfast.the_store(store);
  g holdfast.grants;
begin
  if keys[1] is null then perform holdfast.invalid('keys', 'a list of keys, in one dimension'); end if;
  for at in 1 .. cardinality(keys) loop
    g := holdfast.find_own(keys[at], lock_ids[at], holdfast.seal(coalesce(tokens[at], tokens[1])));
    if g.lock_id is not null then
      select * into g from holdfast.grants x
      where x.resource = keys[at] and x.lock_id = g.lock_id and x.token_hash = g.token_hash for key share;
    end if;
    if g.lock_id is null then
      perform holdfast.check_key(keys[at], 'keys');
      perform holdfast.overtaken(keys[at]);
    end if;
    if holdfast.is_expired(g, holdfast.now_ms()) then perform holdfast.expired(g); end if;
    if g.mode <> 'write' or g.permits is not null then
      perform holdfast.not_held(keys[at], 'a ' || case when g.permits is null then g.mode else 'permit' end ||
        ' on ' || keys[at] || ' commits nothing');
    end if;
  end loop;
  perform holdfast.remember(keys, array(
    select holdfast.token_digest(coalesce(tokens[i], tokens[1])) from generate_subscripts(keys, 1) i));
  perform set_config('idle_in_transaction_session_timeout', max_ms::text, true);
  perform set_config('statement_timeout', max_ms::text, true);
  return holdfast.transaction_id();
end $$;

-- The number of this transaction and the life of the server it is a number of, if that is noted: after a crash numbers are
-- given out again. It may be a long transaction, so it is left to short ones to note it.
create or replace function holdfast.transaction_id() returns text language sql volatile as
$$ select pg_current_xact_id() || coalesce('@' || holdfast.incarnation(), '') $$;

-- How a transaction ended whose COMMIT was not answered: committed, aborted or in progress; null when that is not known. What
-- has become of its number in another life of the server may be another's doing; only if it was not committed, nor was ours.
create or replace function holdfast.transaction_outcome(id text, store uuid default null) returns text
language plpgsql security definer set search_path = holdfast, pg_temp as $$
#variable_conflict use_variable
declare
  st holdfast.store := holdfast.the_store(store);
  number xid8 := split_part(id, '@', 1);
  is_same_life boolean := coalesce(split_part(id, '@', 2) = holdfast.incarnation(), false);
  outcome text;
begin
  if is_same_life then return pg_xact_status(number); end if;
  begin
    outcome := pg_xact_status(number);
  exception when invalid_parameter_value then
    return 'aborted'; -- That number was not given out yet.
  end;
  return case when outcome in ('aborted', 'in progress') then 'aborted' end;
end $$;

create or replace function holdfast.overtaken(key text) returns void language plpgsql as $$
declare
  near holdfast.neighbourhood := holdfast.near(array[key]);
  held holdfast.grants[] := array(select g from unnest(near.grants) g where holdfast.within(key, g.resource));
begin
  if cardinality(held) = 0 then perform holdfast.not_held(key, 'nothing is held on ' || key || ' any more'); end if;
  perform holdfast.mismatch(key, held);
end $$;
