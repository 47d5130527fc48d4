-- A commit that goes on record: assert_fence, and an audit entry for each grant in the same transaction. The guard is
-- taken before the grants' rows, as every step does: the other way round two of them could wait for each other.
create or replace function holdfast.assert_fence_told(
  keys text[], tokens text[], event text, details text, owner text, lock_ids text[] default '{}',
  holder_id text default null, max_ms integer default 5000, store uuid default null
) returns text language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s' as $$
#variable_conflict use_variable
declare
  st holdfast.store := holdfast.the_store(store);
  guards holdfast.trees[];
  g holdfast.grants;
  xact text;
begin
  if event is null or event not in ('snapshot', 'restore') then
    perform holdfast.invalid('event', 'snapshot or restore');
  end if;
  holder_id := holdfast.checked_holder(owner, holder_id);
  perform holdfast.check_metadata(details);
  guards := holdfast.enter(holdfast.trees_of(keys));
  xact := holdfast.assert_fence(keys, tokens, lock_ids, max_ms, store);
  for at in 1 .. cardinality(keys) loop
    g := holdfast.find_own(keys[at], lock_ids[at], holdfast.seal(coalesce(tokens[at], tokens[1])));
    guards := holdfast.append(
      guards, holdfast.now_ms(), event, keys[at], owner, holder_id, g.fencing_token, g.lock_id, details);
  end loop;
  perform holdfast.leave_guard(guards);
  return xact;
end $$;
