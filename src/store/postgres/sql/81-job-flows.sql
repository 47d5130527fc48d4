-- Flows: src/jobs/steps/flows.ts. These and the functions after them are the calls that come in most often, in one
-- statement each; whatever is not as simple as that (locks, schedules, slots to be taken back) goes the long way, in the
-- same step. The tests of the scheduler hold for both ways.

-- Brings the states of the flows of these projects in line with their counters and jobs, all in one statement. The first
-- job of a flow is looked for by a subquery with a limit: no plan makes a scan over all jobs of that.
create or replace function holdfast.job_refresh_all(names text[]) returns void language plpgsql as $$
declare
  news integer;
begin
  with project as (
    select x.project, x.vt, coalesce(x.cap, every.cap) > x.running is not false as has_room,
      coalesce(x.map_cap, every.map_cap) > x.map_running is not false as has_map_room,
      x.running > 0 or (select f.flow from holdfast.job_flows f where f.project = x.project and f.state <> 'idle' limit 1)
        is not null as was_active
    from (select max(g.cap) filter (where g.name = 'each project') as cap,
        max(g.cap) filter (where g.name = 'maps of each project') as map_cap from holdfast.job_gates g) as every,
      unnest(names) name join holdfast.job_projects x on x.project = name
  ), seen as materialized (
    select p.*, f.flow, f.state, f.vt as flow_vt,
      (select j.job from holdfast.jobs j where j.state = 'ready' and j.flow = f.flow and j.is_map = 0
       order by j.priority desc, j.job limit 1) is not null as has_plain,
      (select j.job from holdfast.jobs j where j.state = 'ready' and j.flow = f.flow and j.is_map = 1
       order by j.priority desc, j.job limit 1) is not null as has_maps
    from project p join holdfast.job_flows f on f.project = p.project
  ), served as (
    select s.*, case when has_room and (has_plain or (has_maps and has_map_room)) then 'ready'
        when has_plain or has_maps then 'parked' else 'idle' end as next_state,
      -- One that was idle begins at the clock, so that it neither owes nor is owed anything.
      case when not was_active and bool_or(has_plain or has_maps) over (partition by project)
        then greatest(vt, (select c.vt from holdfast.job_clock c)) else vt end as next_vt
    from seen s
  ), moved as (
    update holdfast.job_flows x set state = s.next_state, vt = s.next_vt from served s
    where x.flow = s.flow and (s.next_state <> s.state or s.next_vt <> s.flow_vt)
    returning s.state = 'idle' and s.next_state = 'ready' as is_news
  ), caught_up as (
    update holdfast.job_projects x set vt = s.next_vt from (select distinct project, next_vt from served where next_vt <> vt) s
    where x.project = s.project
  )
  select count(*) filter (where is_news) into news from moved;
  if news > 0 then perform holdfast.job_wake(); end if;
end $$;

create or replace function holdfast.job_refresh(name text) returns void
language sql security definer set search_path = holdfast, pg_temp as $$ select holdfast.job_refresh_all(array[name]) $$;

-- Adding a job: src/jobs/steps/enqueue.ts.
create or replace function holdfast.job_add(spec json, owner text, holder_id text, now bigint) returns json
language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s' as $$
#variable_conflict use_column
declare
  unique_name text := spec ->> 'unique_key';
  start_at bigint := (spec ->> 'run_at')::bigint;
  flow_id bigint;
  guards holdfast.trees[];
  j holdfast.jobs;
begin
  if unique_name is not null then
    select * into j from jobs where unique_key = unique_name and state in ('scheduled', 'ready', 'waiting', 'running');
    if found then return json_build_object('row', row_to_json(j), 'is_new', false); end if;
  end if;
  insert into job_projects values (spec ->> 'project', null, null, 1, 0, 0, 0) on conflict do nothing;
  insert into job_needs values (spec ->> 'needs') on conflict do nothing;
  select flow into flow_id from job_flows
  where project = spec ->> 'project' and class = spec ->> 'class' and needs = spec ->> 'needs';
  if not found then
    insert into job_flows (project, class, needs, vt, state)
    values (spec ->> 'project', spec ->> 'class', spec ->> 'needs', 0, 'idle') returning flow into flow_id;
  end if;
  insert into jobs (kind, project, map, class, needs, flow, is_map, priority, payload, locks, command, unique_key,
    max_attempts, attempts, timeout_ms, lock_wait_ms, state, run_at, cancelling, created_at)
  values (spec ->> 'kind', spec ->> 'project', spec ->> 'map', spec ->> 'class', spec ->> 'needs', flow_id,
    case when spec ->> 'map' is null then 0 else 1 end, (spec ->> 'priority')::integer, spec ->> 'payload',
    spec ->> 'locks', spec ->> 'command', unique_name, (spec ->> 'max_attempts')::integer, 0,
    (spec ->> 'timeout_ms')::bigint, (spec ->> 'lock_wait_ms')::bigint,
    spec ->> 'state', start_at, 0, job_add.now)
  returning * into j;
  if j.state = 'ready' then perform holdfast.job_refresh(j.project); end if;
  guards := holdfast.append(holdfast.enter('{jobs}'), job_add.now, 'job', 'jobs/' || j.job, job_add.owner, job_add.holder_id, null, null,
    '{"change":"added","kind":' || to_json(j.kind) || ',"project":' || to_json(j.project) || '}');
  perform holdfast.leave_guard(guards);
  return json_build_object('row', row_to_json(j), 'is_new', true);
end $$;
