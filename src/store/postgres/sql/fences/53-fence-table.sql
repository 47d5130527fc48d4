-- Guarded tables: a write from any client, psql included, needs a current write token in the same transaction. The
-- result of assert_fence is remembered in a setting of the transaction. Any client can write that setting, so the
-- trigger does not rely on it: it looks the grant up again by the secret that only its holder knows, and locks its row.
create or replace function holdfast.remember(keys text[], digests text[]) returns void language sql as
$$ select set_config('holdfast.asserted', json_build_object('keys', keys, 'digests', digests)::text, true) $$;

create or replace function holdfast.check_fence() returns trigger
language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s' as $$
declare
  resource_of_table text := tg_argv[0];
  asserted json := nullif(current_setting('holdfast.asserted', true), '')::json;
  g holdfast.grants;
  a record;
begin
  if asserted is not null then
    for a in
      select k.value as key, d.value as digest from json_array_elements_text(asserted -> 'keys') with ordinality k
      join json_array_elements_text(asserted -> 'digests') with ordinality d using (ordinality)
    loop
      continue when not holdfast.within(resource_of_table, a.key);
      select * into g from holdfast.grants x where x.resource = a.key and x.token_hash = holdfast.seal(a.digest) and x.mode = 'write'
        and x.permits is null and x.schema_version = 1 order by x.fencing_token desc limit 1 for key share;
      continue when g.lock_id is null;
      if holdfast.is_expired(g, holdfast.now_ms()) then perform holdfast.expired(g); end if;
      return null;
    end loop;
  end if;
  perform holdfast.fail('E_LOCK_NOT_HELD', tg_table_name || ' is guarded by ' || resource_of_table ||
    ', and this transaction has shown no write token for it', json_build_object('resource', resource_of_table)::text,
    'Call holdfast.assert_fence with your lease token first, in the same transaction.');
  return null;
end $$;

create or replace function holdfast.fence_table(guarded regclass, resource text) returns void
language plpgsql as $$
declare
  each regclass;
begin
  perform holdfast.check_resource(resource);
  perform holdfast.unfence_table(guarded);
  foreach each in array holdfast.with_parts(guarded) loop
    execute format('create trigger holdfast_fence before insert or update or delete or truncate on %s
      for each statement execute function holdfast.check_fence(%L)', each, resource);
  end loop;
end $$;

create or replace function holdfast.unfence_table(guarded regclass) returns void language plpgsql as $$
declare
  each regclass;
begin
  foreach each in array holdfast.with_parts(guarded) loop
    if exists (select 1 from pg_catalog.pg_trigger t where t.tgrelid = each and t.tgname = 'holdfast_fence') then
      execute format('drop trigger holdfast_fence on %s', each);
    end if;
  end loop;
end $$;

-- The table, its partitions and the tables that inherit from it. A statement that names one of those sets off its triggers
-- and not those of the table above it.
create or replace function holdfast.with_parts(guarded regclass) returns regclass[]
language sql stable security definer set search_path = holdfast, pg_temp as
$$ with recursive part (id) as (
     select guarded::oid union select i.inhrelid from pg_inherits i join part on i.inhparent = part.id)
   select array_agg(id::regclass) from part $$;

create or replace function holdfast.check_resource(resource text) returns void
language plpgsql security definer set search_path = holdfast, pg_temp as $$
begin
  perform holdfast.check_key(resource, 'resource');
end $$;
