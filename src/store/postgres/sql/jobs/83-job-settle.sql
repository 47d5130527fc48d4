-- Ends runs and keeps them by heartbeats: src/features/jobs/scripts/settle.ts and slots.ts, for runs without locks;
-- those with locks are reported as such and left to the caller.

-- Ends these runs and counts them back for their projects. The flows of those and the gates are left to the caller, and
-- what goes on record is handed back.
create or replace function holdfast.job_end(
  jobs bigint[], fences bigint[], endings text[], results text[], errors text[], now bigint,
  out answers text[], out resources text[], out numbers bigint[], out details text[], out projects text[],
  out cpu integer, out io integer, out is_handed_back boolean
) language plpgsql as $$
#variable_conflict use_column
declare
  settled bigint[];
  kinds text[];
  times double precision[];
begin
  with gone as (
    delete from holdfast.job_slots s
    using unnest(job_end.jobs, fences, endings, results, errors) with ordinality as a (job, fence, ending, result, error, at)
    where s.job = a.job and s.fence = a.fence and s.grants = '[]'
    returning a.*, s.charged, greatest(0, job_end.now - s.started_ms) as took
  ), ended as (
    update holdfast.jobs x set state = holdfast.job_after(g.ending, x), result = g.result, error = g.error, worker = null,
      attempts = x.attempts - case g.ending when 'handed back' then 1 else 0 end, cancelling = 0,
      run_at = case holdfast.job_after(g.ending, x) when 'ready' then job_end.now
        when 'scheduled' then job_end.now + least(600000, 1000 * 2 ^ least(x.attempts - 1, 20))::bigint else x.run_at end,
      ended_at = case when holdfast.job_after(g.ending, x) in ('done', 'failed', 'cancelled') then job_end.now end
    from gone g where x.job = g.job
    returning g.at, g.job, g.fence, g.ending, g.error, g.charged, g.took, x.kind, x.project, x.class, x.is_map, x.state
  ), project as (
    update holdfast.job_projects p set running = p.running - n.count, map_running = p.map_running - n.maps,
      vt = p.vt + n.served / p.weight
    from (select project, count(*), sum(is_map) as maps, sum(took - charged) as served from ended group by project) n
    where p.project = n.project
  )
  select array_agg(e.at), array_agg('jobs/' || e.job order by e.at), array_agg(e.fence order by e.at),
    array_agg('{"change":"' || e.ending || '","state":"' || e.state || '"' || coalesce(',"error":' || e.error, '') || '}' order by e.at),
    array_agg(distinct e.project), count(*) filter (where e.class = 'cpu'), count(*) filter (where e.class = 'io'),
    bool_or(e.state = 'ready'), array_agg(e.kind order by e.at) filter (where e.ending = 'done'),
    array_agg(e.took order by e.at) filter (where e.ending = 'done')
  into settled, resources, numbers, details, projects, cpu, io, is_handed_back, kinds, times from ended e;
  if kinds is not null then perform holdfast.job_learn(kinds, times); end if;
  answers := array_fill('settled'::text, array[cardinality(job_end.jobs)]);
  if cardinality(job_end.jobs) > coalesce(cardinality(settled), 0) then
    select array_agg(t.answer order by t.at), resources || array_agg('jobs/' || t.job order by t.at) filter (where t.answer = 'late'),
      numbers || array_agg(t.fence order by t.at) filter (where t.answer = 'late'),
      details || array_agg('{"change":"came too late","ending":"' || t.ending || '"}' order by t.at) filter (where t.answer = 'late')
    into answers, resources, numbers, details
    from (select a.*, case when a.at = any (settled) then 'settled' when s.job is null then 'late' else 'locks' end as answer
      from unnest(job_end.jobs, fences, endings) with ordinality as a (job, fence, ending, at)
        left join holdfast.job_slots s on s.job = a.job and s.fence = a.fence) as t;
  end if;
end $$;

-- Where a job goes when a run of it ends.
create or replace function holdfast.job_after(ending text, j holdfast.jobs) returns text language sql immutable as
$$ select case when ending = 'done' then 'done' when ending = 'cancelled' or j.cancelling = 1 then 'cancelled'
     when ending = 'handed back' then 'ready' when j.attempts >= j.max_attempts then 'failed' else 'scheduled' end $$;

-- Each run that was done moves what is known of its kind a fifth of the way, one after the other.
create or replace function holdfast.job_learn(kinds text[], times double precision[]) returns void language plpgsql as $$
declare
  typical double precision;
begin
  for at in 1 .. cardinality(kinds) loop
    if at = 1 or kinds[at] <> kinds[at - 1] then
      select k.typical_ms into typical from holdfast.job_kinds k where k.kind = kinds[at];
    end if;
    typical := coalesce(typical, times[at]) * 0.8 + times[at] * 0.2;
    if at = cardinality(kinds) or kinds[at] <> kinds[at + 1] then
      insert into holdfast.job_kinds values (kinds[at], typical)
      on conflict (kind) do update set typical_ms = excluded.typical_ms;
    end if;
  end loop;
end $$;

create or replace function holdfast.job_beat(jobs bigint[], fences bigint[], progress text[], now bigint) returns json
language plpgsql security definer set search_path = holdfast, pg_temp as $$
#variable_conflict use_column
declare
  answers text[] := '{}';
  s holdfast.job_slots;
begin
  for at in 1 .. cardinality(job_beat.jobs) loop
    select * into s from job_slots x where x.job = job_beat.jobs[at] and x.fence = fences[at];
    if not found or s.until_ms < job_beat.now then
      answers := answers || 'lost'::text;
    elsif s.grants <> '[]' then
      answers := answers || 'locks'::text;
    else
      update job_slots x set until_ms = job_beat.now + s.lease_ms where x.job = s.job;
      if job_beat.progress[at] is not null then
        update holdfast.jobs x set progress = job_beat.progress[at] where x.job = s.job;
      end if;
      answers := answers || (select case x.cancelling when 1 then 'cancelling' else 'kept' end from holdfast.jobs x where x.job = s.job);
    end if;
  end loop;
  return to_json(answers);
end $$;
