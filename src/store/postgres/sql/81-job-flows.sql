-- Flows: src/jobs/steps/flows.ts. These and the functions after them are the calls that come in most often, in one
-- statement each; whatever is not as simple as that (locks, schedules, slots to be taken back) goes the long way, in the
-- same step. The tests of the scheduler hold for both ways.

-- Brings the states of a project's flows in line with its counters and jobs.
create or replace function holdfast.job_refresh(name text) returns void
language plpgsql security definer set search_path = holdfast, pg_temp as $$
declare
  p record;
  f record;
  has_room boolean;
  has_plain boolean;
  has_maps boolean;
  was_active boolean;
  next_state text;
  served double precision;
begin
  select x.running, x.vt, coalesce(x.cap, (select g.cap from job_gates g where g.name = 'each project')) as cap,
    coalesce(x.map_cap, (select g.cap from job_gates g where g.name = 'maps of each project')) as map_cap, x.map_running
  into p from job_projects x where x.project = job_refresh.name;
  has_room := p.cap is null or p.running < p.cap;
  was_active := p.running > 0 or exists (
    select 1 from job_flows x where x.project = job_refresh.name and x.state <> 'idle');
  served := p.vt;
  for f in select * from job_flows x where x.project = job_refresh.name order by x.flow loop
    has_plain := (select j.job from jobs j where j.state = 'ready' and j.flow = f.flow and j.is_map = 0
      order by j.priority desc, j.job limit 1) is not null;
    has_maps := (select j.job from jobs j where j.state = 'ready' and j.flow = f.flow and j.is_map = 1
      order by j.priority desc, j.job limit 1) is not null;
    next_state := case
      when has_room and (has_plain or (has_maps and (p.map_cap is null or p.map_running < p.map_cap))) then 'ready'
      when has_plain or has_maps then 'parked' else 'idle' end;
    if not was_active and next_state <> 'idle' then served := greatest(served, (select c.vt from job_clock c)); end if;
    if next_state <> f.state or served <> f.vt then
      update job_flows x set state = next_state, vt = served where x.flow = f.flow;
    end if;
    if next_state = 'ready' and f.state = 'idle' then perform holdfast.job_wake(); end if;
  end loop;
  if served <> p.vt then update job_projects x set vt = served where x.project = job_refresh.name; end if;
end $$;

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
