-- Finds the caller's own grants under the guard: src/store/operations/live-grant.ts.
create or replace function holdfast.expired(g holdfast.grants) returns void language plpgsql as $$
begin
  perform holdfast.fail('E_LOCK_EXPIRED',
    'the lease on ' || g.resource || ' ran out at ' || holdfast.iso(g.renewed_ms + g.lease_ms),
    json_build_object('resource', g.resource, 'lock_id', g.lock_id, 'fencing_token', g.fencing_token,
      'expired_at', holdfast.iso(g.renewed_ms + g.lease_ms))::text,
    'Acquire again, re-read what you were about to change, then write; or resume it if nothing changed.');
end $$;

create or replace function holdfast.mismatch(resource text, held holdfast.grants[]) returns void language plpgsql as $$
begin
  perform holdfast.fail('E_FENCING_MISMATCH', resource || ' is held by ' ||
    (select string_agg(g.owner || ' with token ' || g.fencing_token, ', ') from unnest(held) g),
    json_build_object('resource', resource, 'current', (select json_agg(g.fencing_token) from unnest(held) g))::text);
end $$;

-- The grant on this key with this id and token, or null. Without an id the newest that the token holds there.
create or replace function holdfast.find_own(key text, id text, seal text) returns holdfast.grants language plpgsql as $$
declare
  g holdfast.grants;
begin
  if id is not null then
    select * into g from holdfast.grants x where x.resource = key and x.lock_id = id and x.token_hash = seal;
  else
    select * into g from holdfast.grants x where x.resource = key and x.token_hash = seal
    order by x.fencing_token desc limit 1;
  end if;
  return holdfast.readable(g);
end $$;

create or replace function holdfast.readable(g holdfast.grants) returns holdfast.grants language plpgsql as $$
begin
  if g.lock_id is not null and g.schema_version <> 1 then
    perform holdfast.fail('E_STORE_CORRUPT',
      'the record of ' || g.resource || ' cannot be read (schema ' || g.schema_version || ')');
  end if;
  return g;
end $$;

-- `E_LOCK_NOT_HELD` or `E_LOCK_EXPIRED`.
create or replace function holdfast.live(key text, g holdfast.grants, now bigint) returns holdfast.grants
language plpgsql as $$
begin
  if g.lock_id is null then perform holdfast.not_held(key, 'you do not hold ' || key || ' (any more)'); end if;
  if holdfast.is_expired(g, now) then perform holdfast.expired(g); end if;
  return g;
end $$;

create or replace function holdfast.require_own(key text, id text, seal text, now bigint) returns holdfast.grants
language sql volatile as $$ select holdfast.live(key, holdfast.find_own(key, id, seal), now) $$;

-- The caller's grants, each once. One token serves for all keys.
create or replace function holdfast.require_all(keys text[], lock_ids text[], tokens text[], now bigint)
returns holdfast.grants[] language plpgsql as $$
declare
  list holdfast.grants[] := '{}';
begin
  for at in 1 .. cardinality(keys) loop
    list := list || holdfast.require_own(keys[at], lock_ids[at], holdfast.seal(coalesce(tokens[at], tokens[1])), now);
  end loop;
  return list;
end $$;

-- The keys among these that the caller holds, by the seal at the same place. A request with held keys does not wait behind
-- the queue, so a key without its token must not count.
create or replace function holdfast.proven(keys text[], seals text[]) returns text[] language plpgsql as $$
begin
  if cardinality(keys) = 0 then return '{}'; end if;
  return array(select held.key from unnest(keys, seals) as held (key, seal)
    where exists (select 1 from holdfast.grants g where g.resource = held.key and g.token_hash = held.seal));
end $$;

-- Grants that nest in one of `outer_grants`, or in something that does, and are not among them.
create or replace function holdfast.nested_in(near holdfast.grants[], outer_grants holdfast.grants[])
returns holdfast.grants[] language plpgsql immutable as $$
declare
  g holdfast.grants;
  ids text[] := '{}';
  list holdfast.grants[] := '{}';
  known int := 0;
begin
  foreach g in array outer_grants loop ids := ids || g.lock_id; end loop;
  while known < cardinality(ids) loop
    known := cardinality(ids);
    foreach g in array near loop
      if g.cover = any (ids) and not g.lock_id = any (ids) then
        ids := ids || g.lock_id;
        list := list || g;
      end if;
    end loop;
  end loop;
  return list;
end $$;

create or replace function holdfast.must_go_first(inner_grants holdfast.grants[], what text) returns void language plpgsql as $$
begin
  if cardinality(inner_grants) > 0 then
    perform holdfast.fail('E_LOCK_ORDER', array_to_string(holdfast.keys_of(inner_grants), ', ') ||
      ' nests in what is to be ' || what || ' and must be released first');
  end if;
end $$;
