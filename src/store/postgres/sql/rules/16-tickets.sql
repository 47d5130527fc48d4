-- The queue: src/lock/queue.ts. Tickets are served by number and hold back whatever behind them conflicts. A waiter
-- that was last seen more than a minute in the future was seen before the clock was set back, and may be gone.
create or replace function holdfast.stands(t holdfast.tickets, now bigint) returns boolean language sql immutable as
$$ select t.refreshed_ms + 2000 > now and t.refreshed_ms < now + 60000 and t.entered_ms + t.wait_ms > now $$;

-- True when something of `theirs` stands in the way of something of `mine`, as if it were granted.
create or replace function holdfast.in_the_way(theirs holdfast.want[], mine holdfast.want[]) returns boolean
language plpgsql immutable as $$
declare
  a holdfast.want;
  b holdfast.want;
begin
  foreach a in array theirs loop
    foreach b in array mine loop
      if a.permits is not null and b.permits is not null then
        if a.resource = b.resource then return true; end if;
      elsif holdfast.conflict_node(a.resource, a.mode, a.permits, b.resource, b.mode, b.permits) is not null then
        return true;
      end if;
    end loop;
  end loop;
  return false;
end $$;

create or replace function holdfast.is_before(number1 bigint, id1 text, number2 bigint, id2 text) returns boolean
language sql immutable as
$$ select number1 < number2 or (number1 = number2 and id1 collate "C" < id2 collate "C") $$;

-- Tickets in these trees that want something on, above or below these keys, as they are served.
create or replace function holdfast.near_tickets(names text[], keys text[]) returns holdfast.tickets[]
language plpgsql volatile as $$
begin
  if not exists (select 1 from holdfast.tickets where tree = any (names)) then return '{}'; end if;
  return coalesce((
    select array_agg(t::holdfast.tickets order by t.number, t.ticket_id)
    from (select distinct on (ticket_id) * from holdfast.tickets where tree = any (names) order by ticket_id) as t
    where exists (
      select 1 from unnest(t.wants) w, unnest(keys) key
      where holdfast.within(w.resource, key) or holdfast.within(key, w.resource))
  ), '{}');
end $$;

-- Wakes those whom nobody ahead holds back and whom what is held now lets in.
create or replace function holdfast.wake(tickets holdfast.tickets[], held holdfast.grants[], leaving text, now bigint)
returns void language plpgsql as $$
declare
  t holdfast.tickets;
  g holdfast.grants;
  w holdfast.want;
  ahead holdfast.want[] := '{}';
  blocked holdfast.want[] := '{}';
  may_go boolean;
begin
  foreach t in array tickets loop
    continue when t.ticket_id = leaving or not holdfast.stands(t, now);
    -- Most of a line wants the same: who wants what one ahead waits for waits too, and holds nobody else back.
    continue when t.upgrade_of is null and cardinality(t.wants) = 1 and t.wants <@ blocked;
    may_go := true;
    foreach g in array held loop
      continue when g.lock_id = t.upgrade_of;
      foreach w in array t.wants loop
        may_go := may_go and
          holdfast.conflict_node(g.resource, g.mode, g.permits, w.resource, w.mode, w.permits) is null;
      end loop;
      exit when not may_go;
    end loop;
    may_go := may_go and not holdfast.in_the_way(ahead, t.wants);
    if may_go then
      perform pg_notify('holdfast_' || t.nonce, t.ticket_id);
    elsif t.upgrade_of is null and cardinality(t.wants) = 1 then
      blocked := blocked || t.wants;
    end if;
    ahead := ahead || t.wants;
  end loop;
end $$;
