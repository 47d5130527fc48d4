-- A round of a worker: settles its ended runs and takes its next turn, as src/features/jobs/scripts/settle.ts and turn.ts
-- do, for jobs without locks. Without a `worker` it takes no turn. Counters, guard and record are written once for both.
--
-- Runs with locks are not settled (`locks`). When other work comes first (`chores`: slots whose lease is over, jobs that a
-- transaction added, schedules whose time has come, workers that come, go or change their definitions of kinds, and jobs that
-- ask for the locks that one of the worker's `functions` gives), nothing is started; a next job that is special (`met_special`, 82-job-turn.sql) is left to the caller.
create or replace function holdfast.job_round(
  jobs bigint[], fences bigint[], endings text[], results text[], errors text[],
  worker text, node text, has text, kinds text, functions text[], concurrency integer, room integer, lease_ms bigint,
  owner text, holder_id text
) returns json language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s' as $$
#variable_conflict use_column
declare
  now bigint := holdfast.now_ms();
  guard holdfast.trees := (holdfast.enter('{jobs}'))[1];
  ended record;
  resources text[] := '{}';
  numbers bigint[] := '{}';
  details text[] := '{}';
  -- Projects whose flows are yet to be brought in line.
  stale text[] := '{}';
  freed_cpu integer := 0;
  freed_io integer := 0;
  answers text[] := '{}';
  is_unseen boolean;
  has_chores boolean := false;
  has_due boolean := false;
  called integer := 0;
  called_in text[];
  met text[];
  pick record;
  minted record;
  begun record;
  -- The number of the first run; those of the others come after it.
  first bigint;
  is_thorough boolean := false;
  -- Projects whose flows were put right since the last start.
  refreshed text[] := '{}';
  met_special boolean := false;
  runs json[] := '{}';
begin
  perform holdfast.checked_holder(job_round.owner, job_round.holder_id);
  if cardinality(job_round.jobs) > 0 then
    ended := holdfast.job_end(job_round.jobs, fences, endings, results, errors, now);
    answers := ended.answers;
    resources := coalesce(ended.resources, '{}');
    numbers := coalesce(ended.numbers, '{}');
    details := coalesce(ended.details, '{}');
    stale := coalesce(ended.projects, '{}');
    freed_cpu := ended.cpu;
    freed_io := ended.io;
    if ended.is_handed_back then
      perform holdfast.job_refresh_all(stale);
      stale := '{}';
    end if;
  end if;

  if job_round.worker is not null then
    select (select w.worker from job_workers w where w.worker = job_round.worker and w.has = job_round.has
        and w.kinds = job_round.kinds and w.until_ms >= now + job_round.lease_ms * 0.75) is null,
      (select s.job from job_slots s where s.until_ms < now order by s.until_ms limit 1) is not null
        or (select j.job from jobs j where j.flow = 0 order by j.job limit 1) is not null
        or (select w.worker from job_workers w where w.until_ms < now order by w.until_ms limit 1) is not null
        or cardinality(functions) > 0
          and (select j.job from jobs j where j.asked_of = any (functions) and j.asked_of is not null limit 1) is not null,
      (select j.job from jobs j where j.state = 'scheduled' and j.run_at <= now order by j.run_at, j.job limit 1) is not null
        or (select j.job from jobs j where j.state = 'waiting' and j.ask_at <= now order by j.ask_at, j.job limit 1) is not null
    into is_unseen, has_chores, has_due;
    if is_unseen and job_round.kinds
      <> coalesce((select w.kinds from job_workers w where w.worker = job_round.worker), '{}') then
      has_chores := true;
    elsif is_unseen then
      insert into job_workers values (job_round.worker, job_round.node, job_round.has, job_round.concurrency,
        now + job_round.lease_ms, 'server', job_round.kinds)
      on conflict (worker) do update set node = excluded.node, has = excluded.has, concurrency = excluded.concurrency,
        until_ms = excluded.until_ms;
    end if;
    if has_due and not has_chores then
      has_chores := exists (select 1 from (select j.cron from jobs j where j.state = 'scheduled' and j.run_at <= now
        order by j.run_at, j.job limit 500) as due where due.cron is not null);
    end if;
  end if;

  if has_due and not has_chores then
    -- What a transaction has added since that look is not lined up yet, and left to the next turn.
    with due as (
      update jobs x set state = 'ready' where x.job in (
        select j.job from jobs j where j.state = 'scheduled' and j.run_at <= now order by j.run_at, j.job limit 500)
        and x.flow <> 0 and x.cron is null
      returning x.project
    ), asking as (
      update jobs x set state = 'ready' where x.job in (
        select j.job from jobs j where j.state = 'waiting' and j.ask_at <= now order by j.ask_at, j.job limit 500)
      returning x.project
    ), both_ways as (select project from due union all select project from asking)
    select count(*), coalesce(array_agg(distinct project), '{}') into called, called_in from both_ways;
    perform holdfast.job_refresh_all(stale || called_in);
    stale := '{}';
  end if;

  if job_round.room > 0 and not has_chores then
    met := array(select n.needs from job_needs n where not exists (
      select 1 from json_array_elements_text(n.needs::json) wanted
      where wanted <> all (array(select json_array_elements_text(job_round.has::json)))));
    while cardinality(runs) < job_round.room and not met_special loop
      pick := holdfast.job_pick(met, job_round.room - cardinality(runs), stale, freed_cpu, freed_io, is_thorough);
      if pick.is_cut then
        is_thorough := true;
        continue;
      end if;
      met_special := pick.met_special;
      if cardinality(pick.picked) > 0 then
        minted := holdfast.mint(array[guard], 'jobs', now);
        guard := minted.guards[1];
        first := coalesce(first, minted.token);
        guard.fence := minted.token + cardinality(pick.picked) - 1;
        begun := holdfast.job_start(pick.picked, pick.charges, pick.vt, minted.token, job_round.worker,
          job_round.lease_ms, now);
        runs := runs || begun.runs;
        resources := resources || begun.resources;
        numbers := numbers || begun.numbers;
        details := details || begun.details;
        stale := stale || begun.projects;
        freed_cpu := freed_cpu - begun.cpu;
        freed_io := freed_io - begun.io;
        exit when pick.is_all;
        refreshed := '{}';
      elsif not met_special then
        exit when pick.looked_at is null;
        -- They have nothing that may start after all: their states are put right, and others looked for.
        if refreshed && pick.looked_at then
          raise exception 'flows of % are ready and have nothing to start', pick.looked_at;
        end if;
        perform holdfast.job_refresh_all(pick.looked_at);
        refreshed := refreshed || pick.looked_at;
      end if;
    end loop;
  end if;

  if freed_cpu <> 0 or freed_io <> 0 then
    update job_gates g set running = g.running
      - case g.name when 'cpu' then freed_cpu when 'io' then freed_io else freed_cpu + freed_io end
    where g.name = 'global' or g.name = 'cpu' and freed_cpu <> 0 or g.name = 'io' and freed_io <> 0;
  end if;
  if cardinality(stale) > 0 then perform holdfast.job_refresh_all(stale); end if;
  if cardinality(resources) > 0 then
    guard := holdfast.append_all(guard, now, 'job', resources, job_round.owner, job_round.holder_id, numbers, details);
    perform holdfast.leave_guard(array[guard]);
  end if;
  return json_build_object('answers', to_json(answers), 'chores', has_chores, 'met_special', met_special, 'called', called,
    'first', first, 'runs', to_json(runs));
end $$;
