-- The frame of a scheduler's step: what it needs besides its own tables. A step is a transaction of several statements,
-- sent by a worker one after the other:
--   job_step (the scheduler's row is locked, the clock read) → statements and lock verbs → job_tell → COMMIT
-- A worker that falls silent in between is cut off by the server after `max_ms`, and all of it is undone.

-- The clock and the transaction's id, by which a COMMIT that was not answered is looked up.
create or replace function holdfast.job_step(max_ms integer, store uuid default null) returns json
language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s' as $$
#variable_conflict use_variable
declare
  st holdfast.store := holdfast.the_store(store);
begin
  perform 1 from holdfast.job_clock for no key update;
  perform set_config('idle_in_transaction_session_timeout', max_ms::text, true);
  -- Everything here is found by an index, however new the statistics are.
  perform set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
    set_config('enable_mergejoin', 'off', true), set_config('jit', 'off', true),
    set_config('plan_cache_mode', 'force_generic_plan', true);
  return json_build_object('now', holdfast.now_ms(), 'id', pg_current_xact_id() || '@' || holdfast.this_life());
end $$;

create or replace function holdfast.job_time(store uuid default null) returns bigint
language plpgsql security definer set search_path = holdfast, pg_temp as $$
#variable_conflict use_variable
declare
  st holdfast.store := holdfast.the_store(store);
begin
  return holdfast.now_ms();
end $$;

-- The number of a run, higher than all before it.
create or replace function holdfast.job_fence() returns bigint
language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s' as $$
declare
  guards holdfast.trees[] := holdfast.enter('{jobs}');
  fence bigint;
begin
  select x.guards, x.token into guards, fence from holdfast.mint(guards, 'jobs', holdfast.now_ms()) x;
  perform holdfast.leave_guard(guards);
  return fence;
end $$;

-- Puts entries of jobs on record, and no others. The owner is the caller's own word, as everywhere; each entry has the login.
create or replace function holdfast.job_tell(
  jobs bigint[], owners text[], holder_ids text[], fences bigint[], details text[]
) returns void language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s' as $$
#variable_conflict use_variable
declare
  guards holdfast.trees[] := holdfast.enter('{jobs}');
  now bigint := holdfast.now_ms();
begin
  for at in 1 .. cardinality(jobs) loop
    perform holdfast.check_owner(owners[at]);
    if json_typeof(details[at]::json) is distinct from 'object' then perform holdfast.invalid('details', 'an object of JSON values'); end if;
    guards := holdfast.append(guards, now, 'job', 'jobs/' || jobs[at], owners[at], holdfast.holder_or_backend(holder_ids[at]),
      fences[at], null, details[at]);
  end loop;
  perform holdfast.leave_guard(guards);
end $$;

-- Wakes all workers once the transaction is committed: there is something to start.
create or replace function holdfast.job_wake() returns void
language sql security definer set search_path = holdfast, pg_temp as $$ select pg_notify('holdfast_jobs', '') $$;

-- The locks of a job's run are known by their ids and the owner `job:ID`, not by their token: a worker ends the run of another
-- that is gone. So a login that may work on jobs may end any run with its locks, but writes nothing under them.
create or replace function holdfast.job_lock(key text, id text, job bigint) returns holdfast.grants language plpgsql as $$
#variable_conflict use_variable
declare
  g holdfast.grants;
begin
  select * into g from holdfast.grants x where x.resource = key and x.lock_id = id and x.owner = 'job:' || job;
  return holdfast.readable(g);
end $$;

create or replace function holdfast.require_job_locks(keys text[], lock_ids text[], job bigint, now bigint)
returns holdfast.grants[] language plpgsql as $$
#variable_conflict use_variable
declare
  list holdfast.grants[] := '{}';
begin
  for at in 1 .. cardinality(keys) loop
    list := list || holdfast.live(keys[at], holdfast.job_lock(keys[at], lock_ids[at], job), now);
  end loop;
  return list;
end $$;

-- The locks of a run are still held; from here to the end of the transaction no other request ends them.
create or replace function holdfast.job_check(keys text[], lock_ids text[], job bigint) returns void
language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s' as $$
begin
  perform holdfast.enter(holdfast.trees_of(keys));
  perform holdfast.require_job_locks(keys, lock_ids, job, holdfast.now_ms());
end $$;

create or replace function holdfast.job_renew(keys text[], lock_ids text[], job bigint) returns void
language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s' as $$
declare
  guards holdfast.trees[] := holdfast.enter(holdfast.trees_of(keys));
  now bigint := holdfast.now_ms();
begin
  perform holdfast.renew_grants(holdfast.require_job_locks(keys, lock_ids, job, now), null, now);
end $$;

-- Ends those of a run's locks that are still there, with whatever nests in them, however deep. `E_LOCK_CONFLICT` when one
-- of them is in the middle of a fenced transaction: nobody waits for that with the scheduler in hand.
create or replace function holdfast.job_release(keys text[], lock_ids text[], job bigint, owner text, holder_id text)
returns void language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s' as $$
#variable_conflict use_variable
declare
  guards holdfast.trees[] := holdfast.enter(holdfast.trees_of(keys));
  near holdfast.neighbourhood;
  gone holdfast.grants[] := '{}';
  g holdfast.grants;
begin
  holder_id := holdfast.checked_holder(owner, holder_id);
  for at in 1 .. cardinality(keys) loop
    g := holdfast.job_lock(keys[at], lock_ids[at], job);
    if g.lock_id is not null then gone := gone || g; end if;
  end loop;
  if cardinality(gone) = 0 then return; end if;
  near := holdfast.near(array(select distinct r from unnest(holdfast.keys_of(gone)) r));
  gone := gone || holdfast.nested_in(near.grants, gone);
  foreach g in array gone loop
    if not holdfast.may_end(g) then
      perform holdfast.fail('E_LOCK_CONFLICT', g.resource || ' is in the middle of a transaction');
    end if;
  end loop;
  perform holdfast.release_grants(guards, gone, owner, holder_id);
end $$;
