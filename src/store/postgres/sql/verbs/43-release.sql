-- Releases a grant: only its holder can, by the grant's own ids. Grants that nest in it must be released first, unless
-- they are dead.
create or replace function holdfast.release_step(
  keys text[], tokens text[], owner text, lock_ids text[], holder_id text, store uuid
) returns boolean language plpgsql as $$
#variable_conflict use_variable
declare
  st holdfast.store := holdfast.the_store(store);
  guards holdfast.trees[];
  gone holdfast.grants[] := '{}';
  g holdfast.grants;
begin
  perform holdfast.wants_of(array(select distinct key from unnest(keys) key), '{read}', '{}');
  holder_id := holdfast.checked_holder(owner, holder_id);
  guards := holdfast.enter(holdfast.trees_of(keys));
  for at in 1 .. cardinality(keys) loop
    g := holdfast.find_own(keys[at], lock_ids[at], holdfast.seal(coalesce(tokens[at], tokens[1])));
    if g.lock_id is not null then gone := gone || g; end if;
  end loop;
  if cardinality(gone) = 0 then
    perform holdfast.not_held(keys[1], 'you do not hold ' || array_to_string(keys, ', ') || ' (any more)');
  end if;
  perform holdfast.release_grants(guards, gone, owner, holder_id);
  return true;
end $$;

-- Ends these grants and the dead ones that nest in them, and records it. Leaves the guard.
create or replace function holdfast.release_grants(
  guards holdfast.trees[], gone holdfast.grants[], owner text, holder_id text
) returns void language plpgsql as $$
#variable_conflict use_variable
declare
  now bigint := holdfast.now_ms();
  resources text[] := holdfast.keys_of(gone);
  near holdfast.neighbourhood := holdfast.near(array(select distinct r from unnest(resources) r));
  inner_grants holdfast.grants[] := holdfast.nested_in(near.grants, gone);
  shared text;
  raised bigint;
  g holdfast.grants;
begin
  foreach g in array inner_grants loop
    if not holdfast.recoverable(g, now) or not holdfast.may_end(g) then
      perform holdfast.must_go_first(inner_grants, 'released');
    end if;
  end loop;
  shared := holdfast.shared(resources);
  foreach g in array inner_grants loop
    select x.guards, x.token into guards, raised from holdfast.mint(guards, g.resource, now) x;
    guards := holdfast.append(guards, now, 'recovered', g.resource, owner, holder_id, g.fencing_token, g.lock_id,
      '{' || shared || holdfast.recovery(g, now) || ',"previous":' || holdfast.previous_holder(g) ||
      ',"old_fencing_token":' || g.fencing_token || ',"new_fencing_token":' || raised || '}');
  end loop;
  foreach g in array gone loop
    guards := holdfast.append(guards, now, 'released', g.resource, owner, holder_id, g.fencing_token, g.lock_id,
      '{' || shared || '"renewals":' || g.renewals || '}');
  end loop;
  perform holdfast.drop_grants(gone || inner_grants);
  perform holdfast.leave_guard(guards);
  perform holdfast.wake_after(holdfast.near_tickets(holdfast.trees_of(resources), resources), near.grants,
    gone || inner_grants, '{}', null, now);
end $$;

-- True when everything that was committed before is on the disk; false when the server has crashed or was started anew since
-- that epoch. Without an epoch it says which grants are gone: false as well when one of them is there.
create or replace function holdfast.flush(
  known_epoch text, keys text[] default '{}', lock_ids text[] default '{}'
) returns boolean language plpgsql security definer set search_path = holdfast, pg_temp as $$
#variable_conflict use_variable
begin
  if known_epoch is not null and holdfast.epoch() <> known_epoch then return false; end if;
  if exists (select 1 from holdfast.grants g where g.resource = any (keys) and g.lock_id = any (lock_ids)) then return false; end if;
  perform pg_logical_emit_message(true, 'holdfast', '');
  return true;
end $$;

-- Puts on record that something was refused before any lock was asked for.
create or replace function holdfast.refuse(
  key text, owner text, details text, holder_id text default null, store uuid default null
) returns void language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s' as $$
#variable_conflict use_variable
declare
  st holdfast.store := holdfast.the_store(store);
  guards holdfast.trees[];
begin
  perform holdfast.wants_of(array[key], '{write}', '{}');
  holder_id := holdfast.checked_holder(owner, holder_id);
  perform holdfast.check_metadata(details);
  guards := holdfast.enter(holdfast.trees_of(array[key]));
  guards := holdfast.append(guards, holdfast.now_ms(), 'refused', key, owner, holder_id, null, null, details);
  perform holdfast.leave_guard(guards);
end $$;

-- Gives a place in line back; with a report the refusal goes on record.
create or replace function holdfast.leave(
  ticket_id text, keys text[], owner text, modes text[] default '{write}', report json default null,
  holder_id text default null, store uuid default null
) returns void language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s' as $$
#variable_conflict use_variable
declare
  st holdfast.store := holdfast.the_store(store);
  wants holdfast.want[] := holdfast.wants_of(keys, modes, '{}');
  names text[] := holdfast.trees_of(keys);
  guards holdfast.trees[];
  now bigint;
  near holdfast.neighbourhood;
  tickets holdfast.tickets[];
  mine holdfast.tickets;
  shared text := holdfast.shared(keys);
  w holdfast.want;
begin
  holder_id := holdfast.checked_holder(owner, holder_id);
  guards := holdfast.enter(names);
  now := holdfast.now_ms();
  tickets := holdfast.near_tickets(names, keys);
  mine := holdfast.ticket_at(tickets, ticket_id);
  if report is not null then
    foreach w in array wants loop
      guards := holdfast.append(guards, now, 'refused', w.resource, owner, holder_id, null, null,
        '{' || shared || '"mode":"' || w.mode || '","holder":' || coalesce(to_json(report ->> 'holder')::text, 'null')
        || ',"owner":' || coalesce(to_json(report ->> 'owner')::text, 'null')
        || ',"queue_length":' || coalesce((report ->> 'queue_length')::integer, 0) || '}');
    end loop;
    perform holdfast.leave_guard(guards);
  end if;
  if mine.ticket_id is null then return; end if;
  delete from holdfast.tickets x where x.tree = any (names) and x.ticket_id = mine.ticket_id;
  near := holdfast.near(keys);
  perform holdfast.wake_after(tickets, near.grants, '{}', '{}', mine.ticket_id, now);
end $$;

-- Notes in a ticket the grants that its waiter keeps until the wait ends; null takes the note back.
create or replace function holdfast.note_kept(
  ticket_id text, keys text[], kept text, store uuid default null
) returns void language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s' as $$
#variable_conflict use_variable
declare
  st holdfast.store := holdfast.the_store(store);
begin
  perform holdfast.wants_of(keys, '{write}', '{}');
  if length(kept) > 100000 then perform holdfast.invalid('kept', 'at most 100,000 characters'); end if;
  -- As in stand_in_line.
  perform set_config('synchronous_commit', 'off', true);
  update holdfast.tickets x set kept = kept::json
  where x.tree = any (holdfast.trees_of(keys)) and x.ticket_id = ticket_id and x.login = session_user
    and x.kept::text is distinct from kept;
end $$;
