-- Reads grants and waiters, and takes no lock.
create or replace function holdfast.inspect(key text, tokens text[] default '{}', store uuid default null) returns json
language plpgsql security definer set search_path = holdfast, pg_temp as $$
#variable_conflict use_variable
declare
  st holdfast.store := holdfast.the_store(store);
  near holdfast.neighbourhood;
  tickets holdfast.tickets[];
begin
  perform holdfast.check_key(key);
  near := holdfast.near(array[key]);
  tickets := holdfast.near_tickets(array[holdfast.tree_of(key)], array[key]);
  return json_build_object('now', holdfast.now_ms(), 'resource', key,
    'grants', holdfast.grants_json(near.grants, holdfast.seals(tokens)),
    'waiters', (select coalesce(json_agg(holdfast.ticket_json(t) order by t.number, t.ticket_id), '[]') from unnest(tickets) t),
    'unreadable', to_json(near.unreadable),
    'newer', array(select g.resource from holdfast.grants g
      where g.resource = any (near.unreadable) and g.schema_version > 1),
    'fencing_token', coalesce((select x.fence from holdfast.trees x where x.tree = holdfast.tree_of(key)), 0));
end $$;

create or replace function holdfast.ticket_json(t holdfast.tickets) returns json language sql stable as
$$ select json_build_object('ticket_id', t.ticket_id, 'number', t.number, 'owner', t.owner, 'holder_id', t.holder_id,
     'nonce', t.nonce, 'proof', t.proof::json, 'entered_ms', t.entered_ms, 'refreshed_ms', t.refreshed_ms,
     'wait_ms', t.wait_ms, 'upgrade_of', t.upgrade_of, 'kept', t.kept,
     'wants', (select json_agg(json_build_object('resource', w.resource, 'mode', w.mode, 'permits', w.permits))
               from unnest(t.wants) w)) $$;

-- In the order of keys; `after_…` goes on behind the last record of an earlier page.
create or replace function holdfast.list(
  prefix text default null, after_resource text default null, after_lock_id text default null,
  page integer default 1000, tokens text[] default '{}', store uuid default null, stem text default ''
) returns json language plpgsql security definer set search_path = holdfast, pg_temp as $$
#variable_conflict use_variable
declare
  st holdfast.store := holdfast.the_store(store);
  first text := coalesce(prefix, stem);
  found_grants holdfast.grants[];
begin
  if prefix is not null then perform holdfast.check_key(prefix, 'prefix'); end if;
  perform holdfast.check_page(page);
  found_grants := array(
    select g from holdfast.grants g
    where (g.resource, g.lock_id) > (coalesce(after_resource, first), coalesce(after_lock_id, ''))
      and g.resource >= first and g.resource < stem || chr(127) and (prefix is null or (g.resource < prefix || '0' and holdfast.within(g.resource, prefix)))
      and g.schema_version = 1
    order by g.resource, g.lock_id limit page);
  return json_build_object('now', holdfast.now_ms(), 'grants', holdfast.grants_json(found_grants, holdfast.seals(tokens)));
end $$;

-- All places in line, tree by tree, as they are served. One in several trees is told once, in the first of them.
create or replace function holdfast.waiting(page integer default 1000, store uuid default null) returns json
language plpgsql security definer set search_path = holdfast, pg_temp as $$
#variable_conflict use_variable
declare
  st holdfast.store := holdfast.the_store(store);
begin
  perform holdfast.check_page(page);
  return json_build_object('now', holdfast.now_ms(), 'waiters', (
    select coalesce(json_agg(holdfast.ticket_json(t::holdfast.tickets) order by t.tree, t.number, t.ticket_id), '[]')
    from (
      select * from (select distinct on (ticket_id) * from holdfast.tickets order by ticket_id, tree) as once
      order by tree, number, ticket_id limit page
    ) as t));
end $$;
