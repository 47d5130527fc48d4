-- The roles: holdfast_user may call everything but what of_admins() names, holdfast_admin may call all; no other account
-- may call anything, and the tables are closed to all. Where this account may not create roles, a warning says so, and
-- the schema works for its owner.
do $$
begin
  if not exists (select 1 from pg_roles where rolname = 'holdfast_user') then create role holdfast_user nologin; end if;
  if not exists (select 1 from pg_roles where rolname = 'holdfast_admin') then
    create role holdfast_admin nologin;
    grant holdfast_user to holdfast_admin;
  end if;
exception
  when duplicate_object or unique_violation then null;
  when insufficient_privilege then
    raise warning 'this account may not create the roles holdfast_user and holdfast_admin, so only it can use the store. '
      'An administrator creates them: create role holdfast_user nologin; create role holdfast_admin nologin; '
      'grant holdfast_user to holdfast_admin. Then run holdfast migrate again';
end $$;

revoke all on schema holdfast from public;
revoke all on all tables in schema holdfast from public;
revoke all on all sequences in schema holdfast from public;
revoke all on all functions in schema holdfast from public;

do $$
declare
  each regprocedure;
  queue regclass;
begin
  if not exists (select 1 from pg_roles where rolname = 'holdfast_user')
     or not exists (select 1 from pg_roles where rolname = 'holdfast_admin') then return; end if;
  grant usage on schema holdfast to holdfast_user, holdfast_admin;
  for each in
    select p.oid from pg_proc p where p.pronamespace = 'holdfast'::regnamespace
      and (p.prosecdef and p.proname <> all (holdfast.of_admins()) or p.proname in ('steal', 'fence_table', 'unfence_table'))
  loop
    execute format('grant execute on function %s to holdfast_user, holdfast_admin', each);
  end loop;
  grant execute on function holdfast.break, holdfast.raise_fence to holdfast_admin;
  -- Workers change the tables of jobs, and no others.
  for queue in select c.oid::regclass from pg_class c where c.relnamespace = 'holdfast'::regnamespace and c.relkind = 'r'
    and (c.relname = 'jobs' or starts_with(c.relname, 'job_'))
  loop
    execute format('grant select, insert, update, delete on %s to holdfast_user, holdfast_admin', queue);
  end loop;
end $$;
