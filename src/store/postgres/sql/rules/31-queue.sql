-- Puts a request into the queue: src/store/operations/queue.ts.

-- The answer to a request that cannot go now: a place in the queue, or the conflict when it does not want to wait.
create or replace function holdfast.stand_in_line(
  names text[], tickets holdfast.tickets[], wants holdfast.want[], holders holdfast.grants[], mine holdfast.tickets,
  ticket_id text, wait_ms bigint, owner text, holder_id text, nonce text, proof text, upgrade_of text, now bigint
) returns json language plpgsql as $$
#variable_conflict use_variable
declare
  report json := holdfast.contention(wants, holders, tickets, mine.ticket_id, now);
  is_new boolean := mine.ticket_id is null or not holdfast.stands(mine, now);
  id text := coalesce(mine.ticket_id, ticket_id, gen_random_uuid()::text);
  place bigint := mine.number;
  t holdfast.tickets;
  lapsed text[] := '{}';
  ahead integer := 0;
begin
  if wait_ms <= 0 then return json_build_object('kind', 'conflict', 'contention', report); end if;
  if is_new then place := case when upgrade_of is null then nextval('holdfast.ticket_numbers') else 0 end; end if;
  foreach t in array tickets loop
    if not holdfast.stands(t, now) then
      lapsed := lapsed || t.ticket_id;
    elsif holdfast.is_before(t.number, t.ticket_id, place, id) and holdfast.in_the_way(t.wants, wants) then
      ahead := ahead + 1;
    end if;
  end loop;
  -- A place in line need not survive a crash, so nobody waits for the disk.
  perform set_config('synchronous_commit', 'off', true);
  if cardinality(lapsed) > 0 then delete from holdfast.tickets x where x.ticket_id = any (lapsed); end if;
  if is_new then
    if mine.ticket_id is null and exists (select 1 from holdfast.tickets x where x.tree = any (names) and x.ticket_id = id) then
      perform holdfast.invalid('ticket_id', 'a place for other keys');
    end if;
    insert into holdfast.tickets
    select name, id, place, wants, owner, holder_id, nonce, proof, now, wait_ms, now, upgrade_of from unnest(names) name;
  elsif abs(now - mine.refreshed_ms) >= 400 then
    update holdfast.tickets x set refreshed_ms = now where x.tree = any (names) and x.ticket_id = id;
  end if;
  return json_build_object('kind', 'queued', 'ticket_id', id, 'ahead', ahead, 'contention', report);
end $$;

-- The caller's own place. Ids of places are public (`waiting`), so another login's is refused: a request with it would take
-- that waiter's place, or end it.
create or replace function holdfast.ticket_at(tickets holdfast.tickets[], id text) returns holdfast.tickets
language plpgsql stable as $$
declare
  t holdfast.tickets;
begin
  if id is null then return null; end if;
  foreach t in array tickets loop
    continue when t.ticket_id <> id;
    if t.login <> session_user then
      perform holdfast.fail('E_FORBIDDEN', 'the place ' || id || ' in the queue is another login''s',
        json_build_object('ticket_id', id)::text, 'Leave out the ticket, to get a place of your own.');
    end if;
    return t;
  end loop;
  return null;
end $$;

create or replace function holdfast.refused(
  d holdfast.decision, wants holdfast.want[], tickets holdfast.tickets[], now bigint
) returns void language plpgsql as $$
declare
  report json := holdfast.contention(wants, d.holders, tickets, null, now);
begin
  perform holdfast.fail(d.code, d.why, case when d.code = 'E_INVALID_ARGUMENT'
    then json_build_object('field', split_part(d.why, ':', 1), 'contention', report)
    else json_build_object('contention', report) end::text);
end $$;

-- Takes places away that nobody stands in. They hold nobody up; this is for tidiness.
create or replace function holdfast.drop_stale_tickets(tree text, store uuid default null) returns integer
language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s' as $$
#variable_conflict use_variable
declare
  st holdfast.store := holdfast.the_store(store);
  dropped integer;
begin
  perform holdfast.check_key(tree, 'tree');
  perform holdfast.enter(array[tree]);
  delete from holdfast.tickets t where t.tree = tree and not holdfast.stands(t, holdfast.now_ms());
  get diagnostics dropped = row_count;
  return dropped;
end $$;

-- Wakes whoever can go once `gone` is no longer held and `come` is.
create or replace function holdfast.wake_after(
  tickets holdfast.tickets[], held holdfast.grants[], gone holdfast.grants[], come holdfast.grants[], leaving text,
  now bigint
) returns void language plpgsql as $$
begin
  if cardinality(tickets) = 0 then return; end if;
  perform holdfast.wake(tickets, array(
    select g from unnest(held) g
    where g.lock_id not in (select x.lock_id from unnest(gone) x) and g.lock_id not in (select x.lock_id from unnest(come) x)
  ) || come, leaving, now);
end $$;
