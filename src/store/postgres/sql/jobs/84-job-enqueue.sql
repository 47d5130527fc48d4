-- Adds a job inside any transaction, psql included: select holdfast.job_enqueue('{"kind":"k","project":"p"}'). It
-- writes the job's row and delays no worker; the next turn of one puts it into its flow. Returns the number of the job,
-- or that of the one that has its unique_key. The payload is any JSON; `payload_json` is the same as a text, which may
-- have \u0000 in it.
create or replace function holdfast.job_enqueue(spec json) returns bigint
language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s' as $$
#variable_conflict use_column
declare
  st holdfast.store := holdfast.the_store(null);
  kind_name text := spec ->> 'kind';
  unique_name text := spec ->> 'unique_key';
  command_words text := spec ->> 'command';
  now bigint := holdfast.now_ms();
  start_at bigint := coalesce(now + (spec ->> 'delay_ms')::bigint, (spec ->> 'run_at')::bigint, now);
  attempts integer := coalesce((spec ->> 'max_attempts')::integer, 3);
  lock_wait bigint := coalesce((spec ->> 'lock_wait_ms')::bigint, 600000);
  lock_list text;
  -- Null leaves it to the kind. A program sends what it says under `own_class`, and what it starts from under `class`.
  class_name text := case when spec -> 'own_class' is null then spec ->> 'class' else spec ->> 'own_class' end;
  number bigint;
begin
  perform holdfast.check_job_name(kind_name, 'kind'), holdfast.check_job_name(spec ->> 'project', 'project');
  if spec ->> 'map' is not null then perform holdfast.check_job_name(spec ->> 'map', 'map'); end if;
  if coalesce(spec ->> 'class', 'io') not in ('cpu', 'io') or coalesce(class_name, 'io') not in ('cpu', 'io') then
    perform holdfast.invalid('class', 'one of cpu, io');
  end if;
  if command_words is not null then perform holdfast.check_job_command(command_words::json); end if;
  if spec ->> 'timeout_ms' is not null then
    perform holdfast.check_duration((spec ->> 'timeout_ms')::bigint, 'timeout_ms', 10, 2073600000);
  end if;
  perform holdfast.check_duration(lock_wait, 'lock_wait_ms', 10, 2073600000);
  if attempts not between 1 and 1000 then perform holdfast.invalid('max_attempts', 'a whole number from 1 to 1000'); end if;
  -- What a program can show as a date.
  if abs(start_at) > 8640000000000000 then perform holdfast.invalid('run_at', 'milliseconds since 1970'); end if;
  if unique_name is not null then
    select job into number from holdfast.jobs
    where unique_key = unique_name and state in ('scheduled', 'ready', 'waiting', 'running');
    if number is not null then return number; end if;
    perform pg_advisory_xact_lock(holdfast.job_key(unique_name));
  end if;
  lock_list := holdfast.job_locks_of(coalesce(spec ->> 'locks', '[]')::json, st);
  for attempt in 1 .. 3 loop
    insert into holdfast.jobs (kind, project, map, class, needs, flow, is_map, priority, payload, locks, command, unique_key,
      max_attempts, attempts, timeout_ms, lock_wait_ms, state, run_at, cancelling, created_at, own_class, own_locks,
      own_attempts, own_timeout_ms)
    values (kind_name, spec ->> 'project', spec ->> 'map', coalesce(spec ->> 'class', 'io'),
      holdfast.job_needs_of(coalesce(spec ->> 'needs', '[]')::json,
        case when command_words is null then 'kind:' || kind_name else 'commands' end), 0,
      case when spec ->> 'map' is null then 0 else 1 end, coalesce((spec ->> 'priority')::integer, 0),
      coalesce(spec ->> 'payload_json', (spec -> 'payload')::text, 'null')::json::text,
      lock_list, command_words,
      unique_name, attempts, 0, (spec ->> 'timeout_ms')::bigint, lock_wait, 'scheduled', start_at, 0, now, class_name,
      lock_list, attempts, (spec ->> 'timeout_ms')::bigint)
    on conflict (unique_key) where unique_key is not null and state in ('scheduled', 'ready', 'waiting', 'running')
    do nothing returning job into number;
    if number is not null then
      perform holdfast.job_wake();
      return number;
    end if;
    select job into number from holdfast.jobs
    where unique_key = unique_name and state in ('scheduled', 'ready', 'waiting', 'running');
    if number is not null then return number; end if;
  end loop;
  perform holdfast.fail('E_STORE_UNAVAILABLE', 'the unique key is being given away; try again',
    '{"reason": "busy"}');
end $$;

-- Whoever adds a job under a unique key holds this lock until that is committed: a row that is not yet there for others to
-- see is in their way all the same, for as long as somebody's transaction is open.
create or replace function holdfast.job_key(unique_name text) returns bigint language sql immutable as
$$ select hashtextextended('holdfast job ' || unique_name, 0) $$;

-- For a step of the scheduler, which holds up everybody: it waits for no transaction. What was committed before this can be
-- seen after it.
create or replace function holdfast.job_may_add(unique_name text) returns boolean
language sql volatile security definer set search_path = holdfast, pg_temp as
$$ select pg_try_advisory_xact_lock(holdfast.job_key(unique_name)) $$;

create or replace function holdfast.check_job_name(name text, field text) returns void language plpgsql as $$
begin
  if name is null or name !~ '^[A-Za-z0-9._:@+=,~%-]{1,128}$' then
    perform holdfast.invalid(field, 'letters, digits and . _ - : @ + = , ~ %, at most 128');
  end if;
end $$;

create or replace function holdfast.check_job_command(command json) returns void language plpgsql as $$
begin
  if json_typeof(command) is distinct from 'array' or json_array_length(command) = 0
     or exists (select 1 from json_array_elements(command) word where json_typeof(word) <> 'string') then
    perform holdfast.invalid('command', 'a list: a program and its arguments');
  end if;
end $$;

-- As everybody writes them, so that jobs of the same needs are one flow. With what any worker must have for it.
create or replace function holdfast.job_needs_of(needs json, label text) returns text language plpgsql as $$
begin
  if json_typeof(needs) is distinct from 'array' then perform holdfast.invalid('needs', 'a list of labels'); end if;
  perform holdfast.check_job_name(need, 'needs') from json_array_elements_text(needs) need;
  return (select '[' || string_agg(to_json(need)::text, ',' order by need collate "C") || ']'
    from (select label as need union select json_array_elements_text(needs)) as all_of_them);
end $$;

-- A lock is a resource and a mode, which is write where none is named.
create or replace function holdfast.job_locks_of(locks json, st holdfast.store) returns text language plpgsql as $$
declare
  keys text[];
  modes text[];
  refused text;
begin
  if json_typeof(locks) is distinct from 'array'
     or exists (select 1 from json_array_elements(locks) l where json_typeof(l) <> 'object') then
    perform holdfast.invalid('locks', 'a list of {"resource": KEY, "mode": MODE}');
  end if;
  if json_array_length(locks) = 0 then return '[]'; end if;
  select array_agg(l ->> 'resource' order by at), array_agg(coalesce(l ->> 'mode', 'write') order by at) into keys, modes
  from json_array_elements(locks) with ordinality as x (l, at);
  perform holdfast.wants_of(keys, modes, '{}');
  select key into refused from unnest(keys) key
  where holdfast.profile_of(key, st.profile_prefixes, st.profile_names) = 'strict' limit 1;
  if refused is not null then
    perform holdfast.invalid('locks', refused || ' has the profile strict, which a lapsed slot could not end');
  end if;
  return (select '[' || string_agg('{"resource":' || to_json(key) || ',"mode":"' || mode || '"}', ',' order by at) || ']'
    from unnest(keys, modes) with ordinality as x (key, mode, at));
end $$;
