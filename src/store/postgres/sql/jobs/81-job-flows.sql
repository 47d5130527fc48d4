-- Flows: src/features/jobs/scripts/state/flows.ts. The functions of this file and the next ones are the most frequent calls,
-- in one statement each; all other cases (locks, schedules, slots whose lease is over) take the long way, in the same
-- step. The tests of the scheduler run both ways.

-- Brings the states of the flows of these projects in line with their counters and jobs, all in one statement. The first
-- job of a flow is looked for by a subquery with a limit: no plan makes a scan over all jobs of that. A project that was
-- idle begins at the clock, so that it neither owes nor is owed anything.
create or replace function holdfast.job_refresh_all(names text[]) returns void language plpgsql as $$
declare
  active text[];
  begun text[];
  is_news boolean;
begin
  with seen as materialized (
    select p.project, p.vt as next_vt, f.flow, f.vt, f.state, case
        when (select j.job from holdfast.jobs j where j.state = 'ready' and j.flow = f.flow
          order by j.is_map, j.priority desc, j.job limit 1) is null then 'idle'
        when coalesce(p.cap, (select g.cap from holdfast.job_gates g where g.name = 'each project')) <= p.running
          then 'parked'
        when coalesce(p.map_cap, (select g.cap from holdfast.job_gates g where g.name = 'maps of each project'))
          > p.map_running is not false then 'ready'
        when (select j.job from holdfast.jobs j where j.state = 'ready' and j.flow = f.flow and j.is_map = 0
          order by j.priority desc, j.job limit 1) is not null then 'ready'
        else 'parked' end as next_state
    from (select distinct x from unnest(names) x) as n (name) join holdfast.job_projects p on p.project = n.name
      join holdfast.job_flows f on f.project = p.project
  ), moved as (
    update holdfast.job_flows x set state = s.next_state, vt = s.next_vt from seen s
    where x.flow = s.flow and (s.next_state <> s.state or s.next_vt <> s.vt)
  )
  select array_agg(s.project) filter (where s.state <> 'idle'),
    array_agg(s.project) filter (where s.state = 'idle' and s.next_state <> 'idle'),
    bool_or(s.state = 'idle' and s.next_state = 'ready')
  into active, begun, is_news from seen s;
  if begun is not null then
    with caught_up as (
      update holdfast.job_projects p set vt = c.vt from holdfast.job_clock c
      where p.project = any (begun) and p.project <> all (coalesce(active, '{}')) and p.running = 0 and p.vt < c.vt
      returning p.project, p.vt
    )
    update holdfast.job_flows x set vt = u.vt from caught_up u where x.project = u.project;
  end if;
  if is_news then perform holdfast.job_wake(); end if;
end $$;

create or replace function holdfast.job_refresh(name text) returns void
language sql security definer set search_path = holdfast, pg_temp as $$ select holdfast.job_refresh_all(array[name]) $$;

-- Adding a job: src/features/jobs/scripts/enqueue.ts. With it comes what the workers that are there have.
create or replace function holdfast.job_add(spec json, owner text, holder_id text) returns json
language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s' as $$
#variable_conflict use_column
declare
  now bigint := holdfast.now_ms();
  unique_name text := spec ->> 'unique_key';
  may_add boolean := unique_name is null or holdfast.job_may_add(unique_name);
  start_at bigint := coalesce(now + (spec ->> 'delay_ms')::bigint, (spec ->> 'run_at')::bigint, now);
  f holdfast.job_flows;
  guards holdfast.trees[];
  j holdfast.jobs;
  workers json := (select coalesce(json_agg(distinct w.has), '[]') from job_workers w where w.until_ms >= now);
begin
  perform holdfast.checked_holder(job_add.owner, job_add.holder_id);
  if num_nulls(spec ->> 'kind', spec ->> 'project', spec ->> 'class', spec ->> 'needs', spec ->> 'priority', spec ->> 'payload',
    spec ->> 'locks', spec ->> 'max_attempts', spec ->> 'lock_wait_ms') > 0 then
    perform holdfast.invalid('spec', 'kind, project, class, needs, priority, payload, locks, max_attempts and lock_wait_ms');
  end if;
  if unique_name is not null then
    select * into j from jobs where unique_key = unique_name and state in ('scheduled', 'ready', 'waiting', 'running');
    if found then return json_build_object('row', row_to_json(j), 'is_new', false, 'workers', workers); end if;
    if not may_add then
      perform holdfast.fail('E_STORE_UNAVAILABLE',
        'a transaction that is open adds a job under the unique key ' || unique_name, '{"reason": "busy"}');
    end if;
  end if;
  select * into f from job_flows
  where project = spec ->> 'project' and class = spec ->> 'class' and needs = spec ->> 'needs';
  if not found then
    insert into job_projects values (spec ->> 'project', null, null, 1, 0, 0, 0) on conflict do nothing;
    insert into job_needs values (spec ->> 'needs') on conflict do nothing;
    insert into job_flows (project, class, needs, vt, state)
    values (spec ->> 'project', spec ->> 'class', spec ->> 'needs', 0, 'idle') returning * into f;
  end if;
  insert into jobs (kind, project, map, class, needs, flow, is_map, priority, payload, locks, command, unique_key,
    max_attempts, attempts, timeout_ms, lock_wait_ms, state, run_at, cancelling, created_at, own_class, own_locks, own_attempts,
    own_timeout_ms)
  values (spec ->> 'kind', spec ->> 'project', spec ->> 'map', spec ->> 'class', spec ->> 'needs', f.flow,
    case when spec ->> 'map' is null then 0 else 1 end, (spec ->> 'priority')::integer, spec ->> 'payload',
    spec ->> 'locks', spec ->> 'command', unique_name, (spec ->> 'max_attempts')::integer, 0,
    (spec ->> 'timeout_ms')::bigint, (spec ->> 'lock_wait_ms')::bigint,
    case when start_at > now then 'scheduled' else 'ready' end, start_at, 0, now, spec ->> 'own_class', spec ->> 'locks',
    (spec ->> 'max_attempts')::integer, (spec ->> 'timeout_ms')::bigint)
  returning * into j;
  -- One that is ready already stays as it is.
  if j.state = 'ready' and f.state <> 'ready' then perform holdfast.job_refresh_all(array[j.project]); end if;
  guards := holdfast.append(holdfast.enter('{jobs}'), now, 'job', 'jobs/' || j.job, job_add.owner, job_add.holder_id, null, null,
    '{"change":"added","kind":' || to_json(j.kind) || ',"project":' || to_json(j.project) || '}');
  perform holdfast.leave_guard(guards);
  return json_build_object('row', row_to_json(j), 'is_new', true, 'workers', workers);
end $$;
