-- Raises the fence of a tree above a number that a lost history gave out: src/store/operations/raise-fence.ts. The role
-- decides who may call it, as for `break`.
create or replace function holdfast.raise_fence(
  tree text, above bigint, owner text, holder_id text default null, store uuid default null
) returns bigint language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s' as $$
#variable_conflict use_variable
declare
  st holdfast.store := holdfast.the_store(store);
  guards holdfast.trees[];
  now bigint;
  raised bigint;
begin
  perform holdfast.check_key(tree);
  holder_id := holdfast.checked_holder(owner, holder_id);
  if split_part(owner, ':', 1) not in ('user', 'admin') then
    perform holdfast.fail('E_FORBIDDEN', owner || ' may not raise fences: only a user or an admin may');
  end if;
  if above is null or above < 0 or above > 9007199254740000 then perform holdfast.invalid('above', 'a fencing token'); end if;
  tree := holdfast.tree_of(tree);
  guards := holdfast.enter(array[tree]);
  now := holdfast.now_ms();
  guards[1].fence := greatest(guards[1].fence, above);
  select x.guards, x.token into guards, raised from holdfast.mint(guards, tree, now) x;
  guards := holdfast.append(guards, now, 'fence_raised', tree, owner, holder_id, raised, null,
    '{"reason":"after_restore","above":' || above || '}');
  perform holdfast.leave_guard(guards);
  return raised;
end $$;
