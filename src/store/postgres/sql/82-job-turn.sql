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
  called integer := 0;
  projects text[];
  pick record;
  met_locks boolean := false;
  was_refreshed boolean := false;
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
  if called > 0 then perform holdfast.job_refresh_all(projects); end if;

  if job_turn.room > 0 then
    met := array(select n.needs from job_needs n where not exists (
      select 1 from json_array_elements_text(n.needs::json) wanted where wanted <> all (labels)));
  end if;
  while cardinality(runs) < job_turn.room and not met_locks loop
    select * into pick from holdfast.job_pick(met, job_turn.room - cardinality(runs));
    met_locks := pick.met_locks;
    if cardinality(pick.picked) > 0 then
      runs := runs || holdfast.job_start(pick.picked, pick.charges, pick.vt, job_turn.worker, job_turn.lease_ms,
        job_turn.token_hashes[cardinality(runs) + 1 :], job_turn.owner, job_turn.holder_id, job_turn.now);
      exit when pick.is_all;
      was_refreshed := false;
    elsif not met_locks then
      exit when pick.looked_at is null;
      -- They have nothing that may start after all: their states are put right, and others looked for.
      if was_refreshed then raise exception 'flows of % are ready and have nothing to start', pick.looked_at; end if;
      perform holdfast.job_refresh_all(pick.looked_at);
      was_refreshed := true;
    end if;
  end loop;
  return json_build_object('chores', false, 'met_locks', met_locks, 'called', called, 'runs', to_json(runs));
end $$;

-- Which jobs are next, at most fifty: as if the ready flow with the least served time were looked for again after each start.
-- The first start of a project comes at its served time, each other one after what those before it are expected to take;
-- in that order come the starts of all projects. Caps of projects only leave some of them out; where the gate of a class
-- closes it ends, since what a project did not start it is not charged for. As many flows are looked at as jobs are wanted:
-- none behind those can come before them. `is_all` tells that there is nothing more.
create or replace function holdfast.job_pick(
  met text[], wanted integer, out picked bigint[], out charges double precision[], out vt double precision,
  out met_locks boolean, out looked_at text[], out is_all boolean
) language plpgsql volatile as $$
#variable_conflict use_column
begin
  with gate as (
    select greatest(0, least(job_pick.wanted, 50, max(g.cap - g.running) filter (where g.name = 'global'))) as most,
      max(g.cap) filter (where g.name = 'each project') as cap,
      max(g.cap) filter (where g.name = 'maps of each project') as map_cap
    from holdfast.job_gates g
  ), flow as (
    select f.*, c.name as class, c.room as class_room, n.place, gate.most, p.weight,
      coalesce(p.cap, gate.cap) - p.running as room, coalesce(p.map_cap, gate.map_cap) - p.map_running as map_room
    from gate, unnest(job_pick.met) with ordinality as n (needs, place),
      (select g.name, coalesce(g.cap - g.running, 50) as room from holdfast.job_gates g where g.name in ('cpu', 'io')) as c,
      lateral (select x.flow, x.project, x.vt from holdfast.job_flows x
        where x.state = 'ready' and x.class = c.name and x.needs = n.needs order by x.vt, x.flow limit gate.most) as f
      join holdfast.job_projects p on p.project = f.project
    where c.room > 0
  ), ready as (
    select f.*, j.*, coalesce(k.typical_ms, 100) as charge,
      sum(j.is_map) over (partition by f.project order by f.class, f.place, f.flow, j.priority desc, j.job) as maps
    from flow f, lateral (
      (select x.job, x.kind, x.priority, x.is_map, x.locks <> '[]' as needs_locks from holdfast.jobs x
       where x.state = 'ready' and x.flow = f.flow and x.is_map = 0 order by x.priority desc, x.job limit f.most)
      union all
      (select x.job, x.kind, x.priority, x.is_map, x.locks <> '[]' from holdfast.jobs x
       where x.state = 'ready' and x.flow = f.flow and x.is_map = 1 order by x.priority desc, x.job limit f.most)
    ) as j left join holdfast.job_kinds k on k.kind = j.kind
  ), in_project as (
    select r.*, row_number() over line as nth, r.vt + (sum(r.charge) over line - r.charge) / r.weight as at_vt
    from ready r where r.is_map = 0 or r.maps <= r.map_room is not false
    window line as (partition by r.project order by r.class, r.place, r.flow, r.priority desc, r.job)
  ), in_class as (
    select p.*, row_number() over (partition by p.class order by p.at_vt, p.place, p.flow, p.nth) as class_nth
    from in_project p where p.nth <= p.room is not false
  ), in_turn as (
    select c.*, row_number() over turn as at, bool_or(c.needs_locks) over turn as is_behind_locks,
      bool_or(c.class_nth > c.class_room) over turn as is_behind_gate
    from in_class c
    window turn as (order by c.at_vt, c.class, c.place, c.flow, c.nth)
  )
  select array_agg(t.job order by t.at) filter (where not t.is_behind_locks),
    array_agg(t.charge order by t.at) filter (where not t.is_behind_locks),
    max(t.at_vt) filter (where not t.is_behind_locks), coalesce(bool_or(t.is_behind_locks), false),
    (select array_agg(distinct f.project) from flow f),
    (select count(*) from flow f) < job_pick.wanted and not exists (select 1 from in_turn t where t.is_behind_gate)
  into picked, charges, vt, met_locks, looked_at, is_all from in_turn t where t.at <= t.most and not t.is_behind_gate;
end $$;

-- Starts these jobs, each with its number and its slot, and counts them everywhere; `vt` is when the last of them comes.
create or replace function holdfast.job_start(
  picked bigint[], charges double precision[], vt double precision, worker text, lease_ms bigint, token_hashes text[],
  owner text, holder_id text, now bigint
) returns json[] language plpgsql as $$
#variable_conflict use_column
declare
  guards holdfast.trees[] := holdfast.enter('{jobs}');
  guard holdfast.trees;
  first bigint;
  runs json[];
  resources text[];
  details text[];
  projects text[];
begin
  select x.guards, x.token into guards, first from holdfast.mint(guards, 'jobs', job_start.now) x;
  guard := guards[1];
  guard.fence := first + cardinality(picked) - 1;
  update holdfast.job_clock c set vt = job_start.vt where c.vt < job_start.vt;
  with begun as (
    update holdfast.jobs x set state = 'running', attempts = x.attempts + 1, worker = job_start.worker,
      started_at = job_start.now, wait_since = null, error = case when x.wait_key is null then x.error end, wait_key = null,
      ticket = null, progress = null
    from unnest(picked, charges, token_hashes) with ordinality as p (job, charge, token_hash, nth) where x.job = p.job
    returning x as job, x.project, x.class, x.is_map, p.charge, p.token_hash, first + p.nth - 1 as fence
  ), slot as (
    insert into holdfast.job_slots
    select (b.job).job, b.fence, job_start.worker, job_start.now + job_start.lease_ms, 'server', job_start.lease_ms, b.charge,
      job_start.now, '[]', b.token_hash
    from begun b
  ), gate as (
    update holdfast.job_gates g set running = g.running + n.count
    from (select class, count(*) from begun group by grouping sets ((), (class))) n where g.name = coalesce(n.class, 'global')
  ), project as (
    update holdfast.job_projects p set running = p.running + n.count, map_running = p.map_running + n.maps,
      vt = p.vt + n.charge / p.weight
    from (select project, count(*), sum(is_map) as maps, sum(charge) as charge from begun group by project) n
    where p.project = n.project
  )
  select array_agg(json_build_object('row', row_to_json(b.job), 'fence', b.fence) order by b.fence),
    array_agg('jobs/' || (b.job).job order by b.fence),
    array_agg('{"change":"started","attempt":' || (b.job).attempts || ',"worker":' || to_json(job_start.worker) || '}' order by b.fence),
    array_agg(distinct b.project)
  into runs, resources, details, projects from begun b;
  perform holdfast.job_refresh_all(projects);
  guard := holdfast.append_all(guard, job_start.now, 'job', resources, job_start.owner, job_start.holder_id,
    array(select generate_series(first, guard.fence)), details);
  perform holdfast.leave_guard(array[guard]);
  return runs;
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
