-- Makes the contention report that every refusal carries: src/lock/contention.ts.
create or replace function holdfast.contention(
  wants holdfast.want[], holders holdfast.grants[], tickets holdfast.tickets[], mine text, now bigint
) returns json language plpgsql stable as $$
declare
  resource text := wants[1].resource;
  first holdfast.grants;
  w holdfast.want;
  t holdfast.tickets;
  waiting integer := 0;
  first_waiting text;
  soonest bigint := 5000;
begin
  if cardinality(holders) > 0 then
    first := holders[1];
    foreach w in array wants loop
      if w.resource = first.resource or holdfast.conflict_node(
           first.resource, first.mode, first.permits, w.resource, w.mode, w.permits) is not null then
        resource := w.resource;
        exit;
      end if;
    end loop;
    soonest := (select min(h.renewed_ms + h.lease_ms - now) from unnest(holders) h);
  end if;
  foreach t in array tickets loop
    continue when t.ticket_id = mine or not holdfast.stands(t, now) or not holdfast.in_the_way(t.wants, wants);
    waiting := waiting + 1;
    first_waiting := coalesce(first_waiting, t.owner);
  end loop;
  return holdfast.contention_json(resource, first, holders, first_waiting, waiting, soonest, now);
end $$;

create or replace function holdfast.seconds_left(g holdfast.grants, now bigint) returns bigint language sql immutable as
$$ select greatest(0, ceil((g.renewed_ms + g.lease_ms - now) / 1000.0))::bigint $$;

create or replace function holdfast.contention_json(
  resource text, first holdfast.grants, holders holdfast.grants[], first_waiting text, waiting integer, soonest bigint,
  now bigint
) returns json language sql stable as
$$ select case when starts_with(resource, 'deliverable:')
     then json_build_object('type', 'LOCK_CONTENTION', 'resource', resource,
       'deliverable_id', substr(resource, 13), 'holder', first.holder_id,
       'owner', coalesce(first.owner, first_waiting), 'mode', first.mode,
       'lease_remaining_s', coalesce(holdfast.seconds_left(first, now), 0), 'contention_time', holdfast.iso(now),
       'queue_length', waiting, 'retry_after_ms', least(5000, greatest(50, soonest)), 'holders', list.holders)
     else json_build_object('type', 'LOCK_CONTENTION', 'resource', resource, 'holder', first.holder_id,
       'owner', coalesce(first.owner, first_waiting), 'mode', first.mode,
       'lease_remaining_s', coalesce(holdfast.seconds_left(first, now), 0), 'contention_time', holdfast.iso(now),
       'queue_length', waiting, 'retry_after_ms', least(5000, greatest(50, soonest)), 'holders', list.holders)
     end
   from (
     select coalesce(json_agg(json_build_object('resource', h.resource, 'mode', h.mode, 'owner', h.owner,
       'holder_id', h.holder_id, 'lock_id', h.lock_id, 'fencing_token', h.fencing_token,
       'since', holdfast.iso(h.created_ms), 'lease_remaining_s', holdfast.seconds_left(h, now))), '[]') as holders
     from unnest(holders) h
   ) as list $$;
