-- Opens the store. The first client records its settings; the others get the recorded ones.
create or replace function holdfast.version() returns integer
language sql stable security definer set search_path = holdfast, pg_temp as
$$ select schema_version from holdfast.store $$;

-- The store and what the server says of itself, for who only looks.
create or replace function holdfast.described() returns json
language sql stable security definer set search_path = holdfast, pg_temp as
$$ select json_build_object('store_id', s.store_id, 'levels', to_json(s.levels),
     'profile_prefixes', to_json(s.profile_prefixes), 'profile_names', to_json(s.profile_names),
     'functions_hash', s.functions_hash, 'fsync', current_setting('fsync'),
     'synchronous_commit', current_setting('synchronous_commit'),
     'full_page_writes', current_setting('full_page_writes'))
   from holdfast.store s $$;

-- The functions that holdfast_admin may call and holdfast_user may not.
create or replace function holdfast.of_admins() returns name[] language sql immutable set search_path = holdfast, pg_temp as
$$ select '{break,raise_fence}'::name[] $$;

-- The roles of the schema that lack the right to call a function, for the doctor.
create or replace function holdfast.closed_roles() returns json
language sql stable security definer set search_path = holdfast, pg_temp as
$$ select coalesce(json_agg(r.rolname order by r.rolname), '[]') from pg_roles r
   where r.rolname in ('holdfast_user', 'holdfast_admin') and (not has_schema_privilege(r.oid, 'holdfast', 'usage')
     or exists (select 1 from pg_proc p where p.pronamespace = 'holdfast'::regnamespace and p.prosecdef
       and (p.proname <> all (holdfast.of_admins()) or r.rolname = 'holdfast_admin') and not has_function_privilege(r.oid, p.oid, 'execute'))) $$;

create or replace function holdfast.open(levels text[], profile_prefixes text[], profile_names text[]) returns json
language plpgsql security definer set search_path = holdfast, pg_temp as $$
#variable_conflict use_variable
declare
  st holdfast.store;
begin
  select * into st from holdfast.store;
  if st.store_id is null then
    select * into st from holdfast.store for update;
  end if;
  if st.store_id is null then
    update holdfast.store x set store_id = gen_random_uuid(), levels = coalesce(levels, '{project,map,sketch}'),
      profile_prefixes = coalesce(profile_prefixes, '{project:,worktree:}'),
      profile_names = coalesce(profile_names, '{dal,lease}')
    returning * into st;
  end if;
  if current_setting('transaction_read_only') = 'off' then perform holdfast.this_life(); end if;
  return json_build_object('store_id', st.store_id, 'levels', to_json(st.levels),
    'profile_prefixes', to_json(st.profile_prefixes), 'profile_names', to_json(st.profile_names));
end $$;

-- The first workspace that recorded this store: the given one, unless another came before.
create or replace function holdfast.adopt_workspace(id text, store uuid) returns text
language plpgsql security definer set search_path = holdfast, pg_temp as $$
#variable_conflict use_variable
declare
  st holdfast.store := holdfast.the_store(store);
begin
  if st.workspace is null then
    update holdfast.store x set workspace = coalesce(x.workspace, id) returning * into st;
  end if;
  return st.workspace;
end $$;
