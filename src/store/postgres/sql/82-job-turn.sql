-- A turn: src/jobs/steps/turn.ts, pick.ts and start.ts, for jobs without locks. When something else is to be done first
-- (`chores`) nothing is started; when a job with locks is next (`met_locks`) it is left to the caller.
create or replace function holdfast.job_turn(
  worker text, node text, has text, concurrency integer, room integer, lease_ms bigint, token_hashes text[],
  owner text, holder_id text, now bigint
) returns json language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s' as $$
#variable_conflict use_column
declare
  labels text[] := array(select json_array_elements_text(job_turn.has::json));
  met text[];
  guards holdfast.trees[] := '{}';
  open_classes text[];
  projects text[];
  class_name text;
  need text;
  best holdfast.job_flows;
  f holdfast.job_flows;
  p record;
  j holdfast.jobs;
  m holdfast.jobs;
  fence bigint;
  expected double precision;
  called integer := 0;
  name text;
  met_locks boolean := false;
  runs json[] := '{}';
begin
  insert into job_workers values (job_turn.worker, job_turn.node, job_turn.has, job_turn.concurrency,
    job_turn.now + job_turn.lease_ms, 'server')
  on conflict (worker) do update set node = excluded.node, has = excluded.has, concurrency = excluded.concurrency,
    until_ms = excluded.until_ms
  where job_workers.until_ms < excluded.until_ms - job_turn.lease_ms / 4 or job_workers.has <> excluded.has;
  if holdfast.job_has_chores(job_turn.now) then
    return json_build_object('chores', true, 'met_locks', false, 'called', 0, 'runs', '[]'::json);
  end if;

  -- What a transaction has added since that look is not lined up yet, and left to the next turn.
  with due as (
    update jobs x set state = 'ready' where x.job in (
      select j.job from jobs j where j.state = 'scheduled' and j.run_at <= job_turn.now order by j.run_at, j.job limit 500)
      and x.flow <> 0 and x.cron is null
    returning x.project
  ), asking as (
    update jobs x set state = 'ready' where x.job in (
      select j.job from jobs j where j.state = 'waiting' and j.ask_at <= job_turn.now order by j.ask_at, j.job limit 500)
    returning x.project
  ), both_ways as (select project from due union all select project from asking)
  select count(*), array_agg(distinct project) into called, projects from both_ways;
  if called > 0 then foreach name in array projects loop perform holdfast.job_refresh(name); end loop; end if;

  if job_turn.room > 0 then
    met := array(select n.needs from job_needs n where not exists (
      select 1 from json_array_elements_text(n.needs::json) wanted where wanted <> all (labels)));
  end if;
  while cardinality(runs) < job_turn.room loop
    open_classes := array(select g.name from job_gates g
      where g.name in ('cpu', 'io') and (g.cap is null or g.running < g.cap)
        and exists (select 1 from job_gates x where x.name = 'global' and (x.cap is null or x.running < x.cap))
      order by g.name);
    best := null;
    foreach class_name in array open_classes loop
      foreach need in array met loop
        select * into f from job_flows x
        where x.state = 'ready' and x.class = class_name and x.needs = need order by x.vt, x.flow limit 1;
        if found and (best.flow is null or f.vt < best.vt) then best := f; end if;
      end loop;
    end loop;
    exit when best.flow is null;

    select x.running, x.map_running, x.weight, coalesce(x.cap, (select g.cap from job_gates g where g.name = 'each project')) as cap,
      coalesce(x.map_cap, (select g.cap from job_gates g where g.name = 'maps of each project')) as map_cap
    into p from job_projects x where x.project = best.project;
    j := null;
    if p.cap is null or p.running < p.cap then
      select * into j from jobs x where x.state = 'ready' and x.flow = best.flow and x.is_map = 0
      order by x.priority desc, x.job limit 1;
      if p.map_cap is null or p.map_running < p.map_cap then
        select * into m from jobs x where x.state = 'ready' and x.flow = best.flow and x.is_map = 1
        order by x.priority desc, x.job limit 1;
        if found and (j.job is null or m.priority > j.priority or (m.priority = j.priority and m.job < j.job)) then j := m; end if;
      end if;
    end if;
    if j.job is null then
      perform holdfast.job_refresh(best.project);
      if (select x.state from job_flows x where x.flow = best.flow) = 'ready' then
        raise exception 'flow % is ready and has nothing to start', best.flow;
      end if;
      continue;
    end if;
    if j.locks <> '[]' then
      met_locks := true;
      exit;
    end if;

    update job_clock set vt = best.vt where vt < best.vt;
    if cardinality(guards) = 0 then guards := holdfast.enter('{jobs}'); end if;
    select x.guards, x.token into guards, fence from holdfast.mint(guards, 'jobs', job_turn.now) x;
    expected := coalesce((select k.typical_ms from job_kinds k where k.kind = j.kind), 100);
    update jobs x set state = 'running', attempts = x.attempts + 1, worker = job_turn.worker, started_at = job_turn.now,
      wait_since = null, error = case when x.wait_key is null then x.error end, wait_key = null, ticket = null, progress = null
    where x.job = j.job returning * into j;
    insert into job_slots values (j.job, fence, job_turn.worker, job_turn.now + job_turn.lease_ms, 'server',
      job_turn.lease_ms, expected, job_turn.now, '[]', job_turn.token_hashes[cardinality(runs) + 1]);
    update job_gates set running = running + 1 where name in ('global', j.class);
    update job_projects x set running = x.running + 1, map_running = x.map_running + j.is_map, vt = x.vt + expected / x.weight
    where x.project = j.project;
    perform holdfast.job_refresh(j.project);
    guards := holdfast.append(guards, job_turn.now, 'job', 'jobs/' || j.job, job_turn.owner, job_turn.holder_id, fence, null,
      '{"change":"started","attempt":' || j.attempts || ',"worker":' || to_json(job_turn.worker) || '}');
    runs := runs || json_build_object('row', row_to_json(j), 'fence', fence);
  end loop;
  if cardinality(guards) > 0 then perform holdfast.leave_guard(guards); end if;
  return json_build_object('chores', false, 'met_locks', met_locks, 'called', called, 'runs', to_json(runs));
end $$;

-- Slots to be taken back, jobs that a transaction added, schedules whose time has come: the long way.
create or replace function holdfast.job_has_chores(now bigint) returns boolean language plpgsql volatile as $$
begin
  return (select s.job from holdfast.job_slots s where s.until_ms < job_has_chores.now order by s.until_ms limit 1) is not null
    or (select j.job from holdfast.jobs j where j.flow = 0 order by j.job limit 1) is not null
    or exists (select 1 from (
      select j.cron from holdfast.jobs j where j.state = 'scheduled' and j.run_at <= job_has_chores.now
      order by j.run_at, j.job limit 500) as due where due.cron is not null);
end $$;
