-- The starts of a turn: src/features/jobs/scripts/pick.ts and start.ts, for all jobs but the special ones: those with locks,
-- of their own or by the rules of their kind, and those that belong into another flow by the class of their kind.

-- Which jobs are next, at most fifty: as if the ready flow with the least served time were looked for again after each start.
-- The first start of a project comes at its served time, each other one after what those before it are expected to take;
-- in that order come the starts of all projects. Those of a project come by priority, then in the order they were added,
-- whatever flow they are in. Caps of projects only leave some of them out; where the gate of a class closes it ends, since
-- what a project did not start it is not charged for.
--
-- Of each class and set of needs as many flows are looked at as jobs are wanted, none behind those can come before them, and
-- with each the other flows of its project, whose jobs may come first. The flows of `stale` projects,
-- whose states are yet to be put right, are all looked at. Of each flow only its share of the jobs is looked at, unless it
-- is to be `thorough`. When one behind those could have come before the last that was picked, it `is_cut`.
-- `freed_cpu` and `freed_io` are over and yet to be counted. `is_all` tells that there is nothing more.
create or replace function holdfast.job_pick(
  met text[], wanted integer, stale text[], freed_cpu integer, freed_io integer, thorough boolean,
  out picked bigint[], out charges double precision[], out vt double precision,
  out met_special boolean, out looked_at text[], out is_cut boolean, out is_all boolean
) language plpgsql volatile as $$
#variable_conflict use_column
declare
  most integer;
  cpu_room integer;
  io_room integer;
  each_cap integer;
  each_map_cap integer;
  is_gated boolean;
  flows bigint;
begin
  select greatest(0, least(job_pick.wanted, 50, max(g.cap - g.running) filter (where g.name = 'global') + freed_cpu + freed_io)),
    greatest(0, coalesce(max(g.cap - g.running) filter (where g.name = 'cpu') + freed_cpu, 50)),
    greatest(0, coalesce(max(g.cap - g.running) filter (where g.name = 'io') + freed_io, 50)),
    max(g.cap) filter (where g.name = 'each project'), max(g.cap) filter (where g.name = 'maps of each project')
  into most, cpu_room, io_room, each_cap, each_map_cap from holdfast.job_gates g;
  with least_served as (
    select x.project
    from unnest(job_pick.met) as n (needs), (values ('cpu', cpu_room), ('io', io_room)) as c (name, room),
      lateral (select y.project from holdfast.job_flows y
        where y.state = 'ready' and y.class = c.name and y.needs = n.needs and y.project <> all (stale)
        order by y.vt, y.flow limit most) as x
    where c.room > 0
  ), found as (
    select y.flow, y.project, y.class, false as is_stale
    from (select distinct l.project from least_served l) as l join holdfast.job_flows y on y.project = l.project
    where y.state = 'ready' and y.needs = any (job_pick.met) and case y.class when 'cpu' then cpu_room else io_room end > 0
    union all
    select y.flow, y.project, y.class, true
    from unnest(stale) as s (project) join holdfast.job_flows y on y.project = s.project and y.state <> 'idle',
      unnest(job_pick.met) as n (needs)
    where n.needs = y.needs and case y.class when 'cpu' then cpu_room else io_room end > 0
  ), flow as materialized (
    select f.*, p.vt, p.weight, coalesce(p.cap, each_cap) - p.running as room,
      coalesce(p.map_cap, each_map_cap) - p.map_running as map_room
    from found f join holdfast.job_projects p on p.project = f.project
  ), share as materialized (
    select least(most, case when thorough then most else greatest(2, ceil(1.0 * most / greatest(count(*), 1))) end) as jobs from flow
  ), ready as (
    select min(f.flow) over (partition by f.project) as first_flow, f.project, f.class, f.vt, f.weight, f.room, f.map_room,
      j.job, j.priority, j.is_map, j.is_last, coalesce(k.typical_ms, 100) as charge,
      j.has_locks or coalesce(k.has_locks, 0) = 1 or coalesce(j.own_class, k.class, 'io') <> f.class as is_special,
      sum(j.is_map) over (partition by f.project order by j.priority desc, j.job) as maps
    from flow f, lateral (
      (select x.job, x.kind, x.priority, x.is_map, x.own_class, x.locks <> '[]' as has_locks,
         row_number() over (order by x.priority desc, x.job) = (select s.jobs from share s) as is_last from holdfast.jobs x
       where x.state = 'ready' and x.flow = f.flow and x.is_map = 0 order by x.priority desc, x.job
       limit (select s.jobs from share s))
      union all
      (select x.job, x.kind, x.priority, x.is_map, x.own_class, x.locks <> '[]',
         row_number() over (order by x.priority desc, x.job) = (select s.jobs from share s) from holdfast.jobs x
       where x.state = 'ready' and x.flow = f.flow and x.is_map = 1 order by x.priority desc, x.job
       limit (select s.jobs from share s))
    ) as j left join holdfast.job_kinds k on k.kind = j.kind
  ), in_project as (
    select r.job, r.first_flow, r.class, r.room, r.is_special, r.is_last, r.charge, row_number() over line as nth,
      r.vt + (sum(r.charge) over line - r.charge) / r.weight as at_vt, r.vt + sum(r.charge) over line / r.weight as next_vt
    from ready r where r.is_map = 0 or r.maps <= r.map_room is not false
    window line as (partition by r.project order by r.priority desc, r.job)
  ), in_turn as (
    select p.job, p.charge, p.at_vt, p.next_vt, p.is_last, row_number() over turn as at,
      bool_or(p.is_special) over turn as is_behind_special,
      count(*) filter (where p.class = 'cpu') over turn > cpu_room
        or count(*) filter (where p.class = 'io') over turn > io_room as is_behind_gate
    from in_project p where p.nth <= p.room is not false
    window turn as (order by p.at_vt, p.first_flow, p.nth)
  )
  select array_agg(t.job order by t.at) filter (where t.is_next and not t.is_behind_special),
    array_agg(t.charge order by t.at) filter (where t.is_next and not t.is_behind_special),
    max(t.at_vt) filter (where t.is_next and not t.is_behind_special),
    coalesce(bool_or(t.is_behind_special) filter (where t.is_next), false),
    (select s.jobs from share s) < most and bool_or(t.is_last) filter (where t.is_next) and (count(*) filter (where t.is_next) < most
      or min(t.next_vt) filter (where t.is_next and t.is_last) <= max(t.at_vt) filter (where t.is_next)),
    coalesce(bool_or(t.is_behind_gate), false), (select count(*) from flow f where not f.is_stale)
  into picked, charges, vt, met_special, is_cut, is_gated, flows
  from (select x.*, x.at <= most and not x.is_behind_gate as is_next from in_turn x) as t;
  is_all := flows < job_pick.wanted and not is_gated;
  if picked is null and flows > 0 then
    select array_agg(distinct x.project) into looked_at
    from unnest(job_pick.met) as n (needs), (values ('cpu', cpu_room), ('io', io_room)) as c (name, room),
      lateral (select y.project from holdfast.job_flows y
        where y.state = 'ready' and y.class = c.name and y.needs = n.needs and y.project <> all (stale)
        order by y.vt, y.flow limit most) as x
    where c.room > 0;
  end if;
end $$;

-- Starts these jobs, each with its slot and its number, from `first` on, and counts them for their projects; `vt` is when
-- the last of them comes. What goes on record is handed back.
create or replace function holdfast.job_start(
  picked bigint[], charges double precision[], vt double precision, first bigint, worker text, lease_ms bigint,
  now bigint,
  out runs json[], out resources text[], out numbers bigint[], out details text[], out projects text[], out cpu integer, out io integer
) language plpgsql as $$
#variable_conflict use_column
declare
  by_worker text := to_json(job_start.worker);
begin
  update holdfast.job_clock c set vt = job_start.vt where c.vt < job_start.vt;
  with begun as (
    update holdfast.jobs x set state = 'running', attempts = x.attempts + 1, worker = job_start.worker,
      started_at = job_start.now, wait_since = null, error = case when x.wait_key is null then x.error end, wait_key = null,
      ticket = null, progress = null, asked_of = null,
      (max_attempts, timeout_ms) = (select least(x.own_attempts, k.max_attempts), least(x.own_timeout_ms, k.timeout_ms)
        from (select 1) as one left join holdfast.job_kinds k on k.kind = x.kind)
    from unnest(picked, charges) with ordinality as p (job, charge, nth) where x.job = p.job
    returning x.job, row_to_json(x) as run, x.attempts, x.project, x.class, x.is_map, p.charge,
      job_start.first + p.nth - 1 as fence
  ), slot as (
    insert into holdfast.job_slots
    select b.job, b.fence, job_start.worker, job_start.now + job_start.lease_ms, 'server', job_start.lease_ms, b.charge,
      job_start.now, '[]'
    from begun b
  ), project as (
    update holdfast.job_projects p set running = p.running + n.count, map_running = p.map_running + n.maps,
      vt = p.vt + n.charge / p.weight
    from (select project, count(*), sum(is_map) as maps, sum(charge) as charge from begun group by project) n
    where p.project = n.project
  )
  select array_agg(b.run order by b.fence), array_agg('jobs/' || b.job order by b.fence),
    array_agg(b.fence order by b.fence),
    array_agg('{"change":"started","attempt":' || b.attempts || ',"worker":' || by_worker || '}' order by b.fence),
    array_agg(distinct b.project), count(*) filter (where b.class = 'cpu'), count(*) filter (where b.class = 'io')
  into runs, resources, numbers, details, projects, cpu, io from begun b;
end $$;
