-- Settling and beating: src/jobs/steps/settle.ts and slots.ts, for runs without locks; those with locks are told as such
-- and left to the caller.
create or replace function holdfast.job_settle(
  jobs bigint[], fences bigint[], kinds text[], results text[], errors text[], owner text, holder_id text, now bigint
) returns json language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s' as $$
#variable_conflict use_column
declare
  guards holdfast.trees[] := holdfast.enter('{jobs}');
  answers text[];
  resources text[];
  numbers bigint[];
  details text[];
  projects text[];
begin
  with asked as (
    select a.*, row_number() over (partition by a.job, a.fence order by a.at) = 1 as is_first
    from unnest(job_settle.jobs, fences, kinds, results, errors) with ordinality as a (job, fence, ending, result, error, at)
  ), gone as (
    delete from job_slots s using asked a
    where s.job = a.job and s.fence = a.fence and a.is_first and s.grants = '[]'
    returning a.*, s.charged, greatest(0, job_settle.now - s.started_ms) as took
  ), ended as (
    select g.*, j.kind, j.project, j.class, j.is_map, j.run_at, j.attempts - tries.back as attempts, case
        when g.ending = 'done' then 'done'
        when g.ending = 'cancelled' or j.cancelling = 1 then 'cancelled'
        when g.ending = 'handed back' then 'ready'
        when j.attempts - tries.back >= j.max_attempts then 'failed'
        else 'scheduled' end as state
    from gone g join holdfast.jobs j on j.job = g.job,
      lateral (select case when g.ending = 'handed back' then 1 else 0 end as back) as tries
  ), job as (
    update holdfast.jobs x set state = e.state, attempts = e.attempts, result = e.result, error = e.error, worker = null,
      cancelling = 0, run_at = case e.state when 'ready' then job_settle.now
        when 'scheduled' then job_settle.now + least(600000, 1000 * 2 ^ least(e.attempts - 1, 20))::bigint else e.run_at end,
      ended_at = case when e.state in ('done', 'failed', 'cancelled') then job_settle.now end
    from ended e where x.job = e.job
  ), gate as (
    update job_gates g set running = g.running - n.count
    from (select class, count(*) from ended group by grouping sets ((), (class))) n where g.name = coalesce(n.class, 'global')
  ), project as (
    update job_projects p set running = p.running - n.count, map_running = p.map_running - n.maps, vt = p.vt + n.served / p.weight
    from (select project, count(*), sum(is_map) as maps, sum(took - charged) as served from ended group by project) n
    where p.project = n.project
  ), learnt as (
    -- Each run that was done moves what is known of its kind a fifth of the way, one after the other.
    insert into job_kinds as k
    select n.kind, coalesce(min(x.typical_ms), min(n.took) filter (where n.left_over = n.runs - 1)) * 0.8 ^ max(n.runs)
      + sum(n.took * 0.2 * 0.8 ^ n.left_over)
    from (select e.kind, e.took, count(*) over (partition by e.kind) as runs,
        count(*) over (partition by e.kind order by e.at desc) - 1 as left_over
      from ended e where e.ending = 'done') as n left join job_kinds x on x.kind = n.kind
    group by n.kind
    on conflict (kind) do update set typical_ms = excluded.typical_ms
  ), told as (
    select a.*, e.state, e.project, case when e.job is not null then 'settled' when s.job is null or not a.is_first then 'late'
      else 'locks' end as answer
    from asked a left join ended e on e.at = a.at left join job_slots s on s.job = a.job and s.fence = a.fence
  )
  select array_agg(t.answer order by t.at),
    array_agg('jobs/' || t.job order by t.at) filter (where t.answer <> 'locks'),
    array_agg(t.fence order by t.at) filter (where t.answer <> 'locks'),
    array_agg(case t.answer when 'late' then '{"change":"came too late","ending":"' || t.ending || '"}'
      else '{"change":"' || t.ending || '","state":"' || t.state || '"' || coalesce(',"error":' || t.error, '') || '}' end
      order by t.at) filter (where t.answer <> 'locks'),
    array_agg(distinct t.project) filter (where t.project is not null)
  into answers, resources, numbers, details, projects from told t;
  if cardinality(projects) > 0 then perform holdfast.job_refresh_all(projects); end if;
  if cardinality(resources) > 0 then
    perform holdfast.leave_guard(array[holdfast.append_all(guards[1], job_settle.now, 'job', resources, job_settle.owner,
      job_settle.holder_id, numbers, details)]);
  end if;
  return to_json(answers);
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
