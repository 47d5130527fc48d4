-- Meeting the store. Its settings are recorded by whoever comes first; the others are told what is on record.
create or replace function holdfast.version() returns integer
language sql stable security definer set search_path = holdfast, pg_temp as
$$ select schema_version from holdfast.store $$;

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
  return json_build_object('store_id', st.store_id, 'levels', to_json(st.levels),
    'profile_prefixes', to_json(st.profile_prefixes), 'profile_names', to_json(st.profile_names));
end $$;
