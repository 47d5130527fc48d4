-- Settling and beating: src/jobs/steps/settle.ts and slots.ts, for runs without locks; those with locks are told as such
-- and left to the caller.
create or replace function holdfast.job_settle(
  jobs bigint[], fences bigint[], kinds text[], results text[], errors text[], owner text, holder_id text, now bigint
) returns json language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s' as $$
#variable_conflict use_column
declare
  guards holdfast.trees[] := holdfast.enter('{jobs}');
  answers text[] := '{}';
  projects text[] := '{}';
  name text;
  kind_of_end text;
  s holdfast.job_slots;
  j holdfast.jobs;
  took double precision;
  tries integer;
  next_state text;
  next_run bigint;
begin
  for at in 1 .. cardinality(job_settle.jobs) loop
    kind_of_end := kinds[at];
    select * into s from job_slots x where x.job = job_settle.jobs[at] and x.fence = fences[at];
    if not found then
      guards := holdfast.append(guards, job_settle.now, 'job', 'jobs/' || job_settle.jobs[at], job_settle.owner, job_settle.holder_id,
        fences[at], null, '{"change":"came too late","ending":"' || kind_of_end || '"}');
      answers := answers || 'late'::text;
      continue;
    end if;
    if s.grants <> '[]' then
      answers := answers || 'locks'::text;
      continue;
    end if;
    delete from job_slots x where x.job = s.job and x.fence = s.fence;
    select * into j from holdfast.jobs x where x.job = s.job;
    took := greatest(0, job_settle.now - s.started_ms);
    update job_gates set running = running - 1 where name in ('global', j.class);
    if kind_of_end = 'done' then
      insert into job_kinds as k values (j.kind, took)
      on conflict (kind) do update set typical_ms = k.typical_ms * 0.8 + took * 0.2;
    end if;
    tries := case when kind_of_end = 'handed back' then j.attempts - 1 else j.attempts end;
    next_state := case
      when kind_of_end = 'done' then 'done'
      when kind_of_end = 'cancelled' or j.cancelling = 1 then 'cancelled'
      when kind_of_end = 'handed back' then 'ready'
      when tries >= j.max_attempts then 'failed'
      else 'scheduled' end;
    next_run := case next_state when 'ready' then job_settle.now
      when 'scheduled' then job_settle.now + least(600000, 1000 * 2 ^ least(tries - 1, 20))::bigint else j.run_at end;
    update holdfast.jobs x set state = next_state, attempts = tries, run_at = next_run, result = results[at],
      error = errors[at], worker = null, cancelling = 0,
      ended_at = case when next_state in ('done', 'failed', 'cancelled') then job_settle.now end
    where x.job = j.job;
    update job_projects x set running = x.running - 1, map_running = x.map_running - j.is_map,
      vt = x.vt + (took - s.charged) / x.weight
    where x.project = j.project;
    if not j.project = any (projects) then projects := projects || j.project; end if;
    guards := holdfast.append(guards, job_settle.now, 'job', 'jobs/' || j.job, job_settle.owner, job_settle.holder_id, s.fence, null,
      '{"change":"' || kind_of_end || '","state":"' || next_state || '"' || coalesce(',"error":' || errors[at], '') || '}');
    answers := answers || 'settled'::text;
  end loop;
  foreach name in array projects loop perform holdfast.job_refresh(name); end loop;
  perform holdfast.leave_guard(guards);
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
