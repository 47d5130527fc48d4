-- Ends grants without their holder: src/store/operations/end.ts. Both ways raise the fence and are on record.
create or replace function holdfast.end_grants(
  key text, ended holdfast.grants[], near holdfast.grants[], guards holdfast.trees[], event text, reason text,
  owner text, holder_id text, now bigint
) returns json language plpgsql as $$
#variable_conflict use_variable
declare
  inner_grants holdfast.grants[] := holdfast.nested_in(near, ended);
  others holdfast.grants[];
  raised bigint;
  g holdfast.grants;
begin
  if cardinality(ended) = 0 then return json_build_object('now', now, 'grants', '[]'::json); end if;
  select x.guards, x.token into guards, raised from holdfast.mint(guards, key, now) x;
  for at in 1 .. cardinality(ended) + cardinality(inner_grants) loop
    g := case when at <= cardinality(ended) then ended[at] else inner_grants[at - cardinality(ended)] end;
    guards := holdfast.append(guards, now, event, g.resource, owner, holder_id, g.fencing_token, g.lock_id, '{' ||
      case when at > cardinality(ended) then '"reason":"its cover was ended"'
        when reason is null then holdfast.recovery(g, now) else '"reason":' || to_json(reason) end ||
      ',"previous":' || holdfast.previous_holder(g) || ',"old_fencing_token":' || g.fencing_token ||
      ',"new_fencing_token":' || raised || '}');
  end loop;
  perform holdfast.drop_grants(ended || inner_grants);
  select x.guards, x.others into guards, others
  from holdfast.end_other_names(guards, ended || inner_grants, event, owner, holder_id, now) x;
  perform holdfast.leave_guard(guards);
  perform holdfast.wake_after(holdfast.near_tickets(array[holdfast.tree_of(key)], array[key]), near,
    ended || inner_grants || others, '{}', null, now);
  return json_build_object('now', now, 'grants', holdfast.grants_json(ended || inner_grants || others));
end $$;

-- Ends what is recoverable on the key and below it.
create or replace function holdfast.recover(key text, owner text, holder_id text default null, store uuid default null)
returns json language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s' as $$
#variable_conflict use_variable
declare
  st holdfast.store := holdfast.the_store(store);
  guards holdfast.trees[];
  now bigint;
  near holdfast.neighbourhood;
begin
  perform holdfast.check_key(key);
  holder_id := holdfast.checked_holder(owner, holder_id);
  guards := holdfast.enter(array[holdfast.tree_of(key)]);
  now := holdfast.now_ms();
  near := holdfast.near(array[key]);
  return holdfast.end_grants(key, array(
    select g from unnest(near.grants) g
    where holdfast.within(g.resource, key) and holdfast.recoverable(g, now) and holdfast.may_end(g)
  ), near.grants, guards, 'recovered', null, owner, holder_id, now);
end $$;

-- Ends what still looks alive. The role decides who may call it; the owner and the reason go on record.
create or replace function holdfast.break(
  key text, owner text, reason text, holder_id text default null, store uuid default null
) returns json language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s' as $$
#variable_conflict use_variable
declare
  st holdfast.store := holdfast.the_store(store);
  guards holdfast.trees[];
  now bigint;
  near holdfast.neighbourhood;
  ended holdfast.grants[];
begin
  perform holdfast.check_key(key);
  holder_id := holdfast.checked_holder(owner, holder_id);
  if split_part(owner, ':', 1) not in ('user', 'admin') then
    perform holdfast.fail('E_FORBIDDEN', owner || ' may not break locks: only a user or an admin may');
  end if;
  if reason is null or btrim(reason, E' \t\n\r') = '' then perform holdfast.invalid('reason', 'a break needs a written reason'); end if;
  guards := holdfast.enter(array[holdfast.tree_of(key)]);
  now := holdfast.now_ms();
  near := holdfast.near(array[key]);
  ended := array(select g from unnest(near.grants) g where g.resource = key);
  if cardinality(ended) = 0 then perform holdfast.fail('E_NOT_FOUND', 'nothing is held on ' || key); end if;
  return holdfast.end_grants(key, ended, near.grants, guards, 'broken', reason, owner, holder_id, now);
end $$;
