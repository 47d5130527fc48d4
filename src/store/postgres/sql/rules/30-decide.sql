-- Decides whether a request is granted, waits, or is refused: src/lock/decide.ts, rule by rule; a test gives random
-- histories to both and compares the answers. That file says why no two requests deadlock.
create or replace function holdfast.decide(
  near holdfast.neighbourhood, tickets holdfast.tickets[], wants holdfast.want[], presented text[], holds text[],
  mine holdfast.tickets, upgrade_of text, strict_order boolean, now bigint, levels text[]
) returns holdfast.decision language plpgsql as $$
declare
  d holdfast.decision;
  own holdfast.grants[] := '{}';
  fresh holdfast.want[] := '{}';
  g holdfast.grants;
  w holdfast.want;
  t holdfast.tickets;
  cover holdfast.grants;
  node text;
  meets text[];
  seen text;
  nodes text[] := '{}';
  other boolean;
  places holdfast.grants[];
  dead holdfast.grants[];
  held text;
begin
  d := ('grant', null, null, '{}', '{}', '{}');
  if cardinality(presented) > 0 then
    foreach g in array near.grants loop
      if g.token_hash = any (presented) then own := own || g; end if;
    end loop;
  end if;

  -- A reader that asks for more could wait for another reader that does the same.
  foreach w in array wants loop
    cover := null;
    if upgrade_of is null then
      foreach g in array own loop
        if holdfast.covers(g, w) then cover := g; exit; end if;
      end loop;
      if cover.lock_id is null and w.mode <> 'read' then
        foreach g in array own loop
          if g.mode = 'read' and holdfast.within(w.resource, g.resource) then
            return holdfast.refuse('E_INVALID_ARGUMENT', 'mode: ' || w.mode || ' on ' || w.resource ||
              ' lies below your own read of ' || g.resource ||
              '; a reader cannot upgrade, take it as upgradeable from the start');
          end if;
        end loop;
        foreach g in array own loop
          if g.resource = w.resource and g.permits is null then
            return holdfast.refuse('E_INVALID_ARGUMENT', 'mode: ' || w.resource || ' is yours as ' || g.mode ||
              '; use upgrade() to convert it');
          end if;
        end loop;
      end if;
    end if;
    d.covers := d.covers || cover;
    if cover.lock_id is null then fresh := fresh || w; end if;
  end loop;

  if strict_order and upgrade_of is null then
    foreach w in array wants loop
      foreach held in array holds loop
        if holdfast.sorts_before(w.resource, held, levels) then
          return holdfast.refuse('E_LOCK_ORDER', w.resource || ' sorts before ' || held || ', which is already held');
        end if;
      end loop;
    end loop;
  end if;

  -- Who holds something the request conflicts with, at which nodes, and who of them is to be ended instead.
  foreach g in array near.grants loop
    if g.token_hash = any (presented) then
      foreach w in array fresh loop
        if g.resource = w.resource and g.permits is distinct from w.permits then
          return holdfast.refuse_permits(w, g);
        end if;
      end loop;
      continue;
    end if;
    seen := case when cardinality(tickets) = 0 then g.mode else holdfast.seen_mode(g, tickets, holds, now) end;
    meets := '{}';
    other := false;
    foreach w in array fresh loop
      if g.resource = w.resource and g.permits is distinct from w.permits then
        other := true;
        node := g.resource;
      else
        node := holdfast.conflict_node(g.resource, seen, g.permits, w.resource, w.mode, w.permits);
      end if;
      if node is not null then meets := meets || node; end if;
    end loop;
    continue when cardinality(meets) = 0;
    if holdfast.recoverable(g, now) and holdfast.may_end(g) then
      d.ends := d.ends || g;
    elsif other then
      foreach w in array fresh loop
        if g.resource = w.resource and g.permits is distinct from w.permits then
          return holdfast.refuse_permits(w, g);
        end if;
      end loop;
    else
      d.holders := d.holders || g;
      nodes := nodes || meets;
    end if;
  end loop;

  -- When no place of a semaphore is left, those of recoverable holders are taken; when there are none, it is full.
  foreach w in array fresh loop
    continue when w.permits is null;
    places := array(select each from unnest(near.grants) each
      where each.resource = w.resource and each.permits = w.permits
        and each.lock_id not in (select ending.lock_id from unnest(d.ends) ending));
    continue when cardinality(places) < w.permits;
    dead := array(select each from unnest(places) each where holdfast.recoverable(each, now) and holdfast.may_end(each));
    d.ends := d.ends || dead;
    continue when cardinality(dead) > 0;
    d.holders := d.holders || places;
    nodes := nodes || w.resource;
  end loop;

  foreach node in array near.unreadable loop
    foreach w in array fresh loop
      if holdfast.conflict_node(node, 'write', null, w.resource, w.mode, w.permits) is not null then
        nodes := nodes || node;
        exit;
      end if;
    end loop;
  end loop;

  if cardinality(nodes) > 0 then
    d.kind := 'wait';
    node := holdfast.no_waiting_at(nodes, holds, upgrade_of is not null, levels);
    if node is not null then
      d.kind := 'refuse';
      d.code := 'E_LOCK_ORDER';
      d.why := 'waiting at ' || node || ' while holding ' || array_to_string(holds, ', ') || ' could deadlock';
    end if;
    return d;
  end if;

  if cardinality(holds) = 0 then
    foreach t in array tickets loop
      continue when t.ticket_id = mine.ticket_id or not holdfast.stands(t, now);
      exit when mine.ticket_id is not null and holdfast.stands(mine, now)
        and not holdfast.is_before(t.number, t.ticket_id, mine.number, mine.ticket_id);
      if holdfast.in_the_way(t.wants, fresh) then
        d.kind := 'wait';
        return d;
      end if;
    end loop;
  end if;
  return d;
end $$;

create or replace function holdfast.refuse(code text, why text) returns holdfast.decision language sql immutable as
$$ select ('refuse', code, why, '{}', '{}', '{}')::holdfast.decision $$;

create or replace function holdfast.refuse_permits(w holdfast.want, g holdfast.grants) returns holdfast.decision
language sql stable as
$$ select holdfast.refuse('E_INVALID_ARGUMENT', 'permits: ' || w.resource || ' is in use as '
     || case when g.permits is null then 'a plain lock' else 'a semaphore with ' || g.permits || ' permits' end
     || ' and was asked for '
     || case when w.permits is null then 'as a plain lock' else 'with ' || w.permits || ' permits' end) $$;

-- An upgrade in line lets nobody in at its node who is not there already: to those it counts as a writer.
create or replace function holdfast.seen_mode(
  g holdfast.grants, tickets holdfast.tickets[], holds text[], now bigint
) returns text language sql immutable as
$$ select case when exists (select 1 from unnest(tickets) t where t.upgrade_of = g.lock_id and holdfast.stands(t, now))
       and not exists (select 1 from unnest(holds) held where holdfast.within(held, g.resource))
     then 'write' else g.mode end $$;

-- The first node at which this client must not wait, because it holds something that does not sort before it.
create or replace function holdfast.no_waiting_at(nodes text[], holds text[], upgrading boolean, levels text[])
returns text language plpgsql immutable as $$
declare
  node text;
  held text;
  own text;
begin
  foreach node in array nodes loop
    foreach held in array holds loop
      foreach own in array holdfast.nodes_of(held) loop
        if upgrading and not (own = node or holdfast.sorts_before(own, node, levels)) then return node; end if;
        if not upgrading and not holdfast.sorts_before(own, node, levels) then return node; end if;
      end loop;
    end loop;
  end loop;
  return null;
end $$;

-- A grant whose holder is in the middle of a fenced transaction is not taken away: its row is locked.
create or replace function holdfast.may_end(g holdfast.grants) returns boolean language plpgsql as $$
begin
  perform 1 from holdfast.grants where resource = g.resource and lock_id = g.lock_id for update skip locked;
  return found;
end $$;
