-- Adding a job inside a transaction of anybody's, psql included: select holdfast.job_enqueue('{"kind":"k","project":"p"}').
-- It writes the job's row and waits for nobody; the next turn of a worker lines it up. The number of the job, or that of
-- the one that has its unique_key.
create or replace function holdfast.job_enqueue(spec json) returns bigint
language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s' as $$
#variable_conflict use_column
declare
  kind_name text := spec ->> 'kind';
  command_words text := spec ->> 'command';
  now bigint := holdfast.now_ms();
  number bigint;
begin
  perform holdfast.the_store(null);
  perform holdfast.check_job_name(kind_name, 'kind'), holdfast.check_job_name(spec ->> 'project', 'project');
  if spec ->> 'map' is not null then perform holdfast.check_job_name(spec ->> 'map', 'map'); end if;
  if coalesce(spec ->> 'class', 'io') not in ('cpu', 'io') then perform holdfast.invalid('class', 'one of cpu, io'); end if;
  for attempt in 1 .. 3 loop
    insert into holdfast.jobs (kind, project, map, class, needs, flow, is_map, priority, payload, locks, command, unique_key,
      max_attempts, attempts, timeout_ms, lock_wait_ms, state, run_at, cancelling, created_at)
    values (kind_name, spec ->> 'project', spec ->> 'map', coalesce(spec ->> 'class', 'io'),
      coalesce(spec ->> 'needs', json_build_array(
        case when command_words is null then 'kind:' || kind_name else 'commands' end)::text), 0,
      case when spec ->> 'map' is null then 0 else 1 end, coalesce((spec ->> 'priority')::integer, 0),
      coalesce(spec ->> 'payload', 'null')::json::text, coalesce(spec ->> 'locks', '[]')::json::text, command_words::json::text,
      spec ->> 'unique_key', coalesce((spec ->> 'max_attempts')::integer, 3), 0, (spec ->> 'timeout_ms')::bigint,
      coalesce((spec ->> 'lock_wait_ms')::bigint, 600000), 'scheduled', coalesce((spec ->> 'run_at')::bigint, now), 0, now)
    on conflict (unique_key) where unique_key is not null and state in ('scheduled', 'ready', 'waiting', 'running')
    do nothing returning job into number;
    if number is not null then
      perform holdfast.job_wake();
      return number;
    end if;
    select job into number from holdfast.jobs
    where unique_key = spec ->> 'unique_key' and state in ('scheduled', 'ready', 'waiting', 'running');
    if number is not null then return number; end if;
  end loop;
  perform holdfast.fail('E_STORE_UNAVAILABLE', 'the unique key is being given away; try again');
end $$;

create or replace function holdfast.check_job_name(name text, field text) returns void language plpgsql as $$
begin
  if name is null or name !~ '^[A-Za-z0-9._:@+=,~%-]{1,128}$' then
    perform holdfast.invalid(field, 'letters, digits and . _ - : @ + = , ~ %, at most 128');
  end if;
end $$;
