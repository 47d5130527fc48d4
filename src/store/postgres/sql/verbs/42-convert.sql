-- Upgrades and downgrades: a grant changes its mode, and no other request gets in between.
-- src/store/operations/convert.ts.
create or replace function holdfast.upgrade(
  key text, token text, owner text, lock_id text default null, wait_ms bigint default 0, ticket_id text default null,
  presented_keys text[] default '{}', presented_tokens text[] default '{}', holder_id text default null,
  nonce text default null, proof text default '{"kind":"none"}', store uuid default null
) returns json language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s' as $$
#variable_conflict use_variable
declare
  st holdfast.store := holdfast.the_store(store);
  seal text := holdfast.seal(token);
  guards holdfast.trees[];
  now bigint;
  names text[] := array[holdfast.tree_of(key)];
  current holdfast.grants;
  wants holdfast.want[] := array[(key, 'write', null)::holdfast.want];
  near holdfast.neighbourhood;
  tickets holdfast.tickets[];
  mine holdfast.tickets;
  d holdfast.decision;
  g holdfast.grants;
  others holdfast.grants[] := '{}';
  old_token bigint;
begin
  perform holdfast.check_key(key);
  holder_id := holdfast.checked_holder(owner, holder_id);
  perform holdfast.check_duration(wait_ms, 'wait', 0, 86400000);
  perform holdfast.check_ids(null, ticket_id, proof);
  nonce := holdfast.checked_nonce(nonce);
  guards := holdfast.enter(names);
  now := holdfast.now_ms();
  current := holdfast.require_own(key, lock_id, seal, now);
  if current.mode = 'write' then
    return json_build_object('kind', 'granted', 'now', now, 'grants', holdfast.grants_json(array[current], array[seal]),
      'ended', '[]'::json, 'left', holdfast.left_on(guards, array[key]));
  end if;
  if current.mode = 'read' then
    perform holdfast.invalid('mode', 'a reader cannot upgrade: take ' || key || ' as upgradeable from the start');
  end if;
  near := holdfast.near(array[key]);
  tickets := holdfast.near_tickets(names, array[key]);
  mine := holdfast.ticket_at(tickets, ticket_id);
  d := holdfast.decide(near, tickets, wants, array[seal] || holdfast.seals(presented_tokens),
    array[key] || holdfast.proven(presented_keys, holdfast.seals(presented_tokens)), mine, current.lock_id, false, now, st.levels);
  if d.kind = 'refuse' then perform holdfast.refused(d, wants, tickets, now); end if;
  if d.kind = 'wait' then
    return holdfast.stand_in_line(names, tickets, wants, d.holders, mine, ticket_id, wait_ms, owner, holder_id, nonce,
      proof, current.lock_id, now);
  end if;
  old_token := current.fencing_token;
  current.mode := 'write';
  select x.guards, x.token into guards, current.fencing_token from holdfast.mint(guards, key, now) x;
  update holdfast.grants x set mode = 'write', fencing_token = current.fencing_token
  where x.resource = key and x.lock_id = current.lock_id;
  foreach g in array d.ends loop
    guards := holdfast.append(guards, now, 'stolen', g.resource, owner, holder_id, g.fencing_token, g.lock_id,
      '{' || holdfast.recovery(g, now) || ',"previous":' || holdfast.previous_holder(g) || ',"old_fencing_token":' ||
      g.fencing_token || ',"new_fencing_token":' || current.fencing_token || ',"by_lock_id":"' || current.lock_id || '"}');
  end loop;
  guards := holdfast.append(guards, now, 'upgraded', key, owner, holder_id, current.fencing_token, current.lock_id,
    '{"mode":"write","old_fencing_token":' || old_token || '}');
  perform holdfast.drop_grants(d.ends);
  select x.guards, x.others into guards, others
  from holdfast.end_other_names(guards, d.ends, 'stolen', owner, holder_id, now) x;
  if mine.ticket_id is not null then
    delete from holdfast.tickets x where x.tree = any (names) and x.ticket_id = mine.ticket_id;
  end if;
  perform holdfast.leave_guard(guards);
  return json_build_object('kind', 'granted', 'now', now, 'grants', holdfast.grants_json(array[current], array[seal]),
    'ended', holdfast.grants_json(d.ends || others), 'left', holdfast.left_on(guards, array[key]));
end $$;

create or replace function holdfast.downgrade(
  keys text[], tokens text[], owner text, lock_ids text[] default '{}', holder_id text default null,
  store uuid default null
) returns json language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s' as $$
#variable_conflict use_variable
declare
  st holdfast.store := holdfast.the_store(store);
  guards holdfast.trees[];
  now bigint;
  near holdfast.neighbourhood;
  current holdfast.grants[];
  higher holdfast.grants[] := '{}';
  g holdfast.grants;
begin
  perform holdfast.wants_of(array(select distinct key from unnest(keys) key), '{read}', '{}');
  holder_id := holdfast.checked_holder(owner, holder_id);
  guards := holdfast.enter(holdfast.trees_of(keys));
  now := holdfast.now_ms();
  current := holdfast.require_all(keys, lock_ids, tokens, now);
  foreach g in array current loop
    if g.permits is not null then perform holdfast.invalid('mode', 'a permit has no mode to lower'); end if;
    if g.mode <> 'read' then higher := higher || g; end if;
  end loop;
  if cardinality(higher) > 0 then
    near := holdfast.near(holdfast.keys_of(higher));
    perform holdfast.must_go_first(holdfast.nested_in(near.grants, higher), 'lowered');
    foreach g in array higher loop
      -- A fenced transaction of its own still counts on the mode: this waits for it.
      perform 1 from holdfast.grants x where x.resource = g.resource and x.lock_id = g.lock_id for update;
      update holdfast.grants x set mode = 'read' where x.resource = g.resource and x.lock_id = g.lock_id;
      guards := holdfast.append(guards, now, 'downgraded', g.resource, owner, holder_id, g.fencing_token, g.lock_id,
        '{"mode":"read","from":"' || g.mode || '"}');
    end loop;
    for at in 1 .. cardinality(current) loop current[at].mode := 'read'; end loop;
    for at in 1 .. cardinality(higher) loop higher[at].mode := 'read'; end loop;
    perform holdfast.leave_guard(guards);
    perform holdfast.wake_after(holdfast.near_tickets(holdfast.trees_of(keys), holdfast.keys_of(higher)), near.grants, '{}',
      higher, null, now);
  end if;
  return json_build_object('now', now, 'grants', holdfast.grants_json(current, holdfast.seals(tokens)));
end $$;
