-- The guard: every change happens between enter() and leave_guard(), under the row locks of its trees, which last until
-- the transaction ends. Rows of new trees are made before any lock is taken, and locks are taken in the order of names,
-- so two steps never wait for each other. A crash anywhere rolls everything back.

-- For whoever takes a guard: a client that leaves its transaction open and falls silent is cut off by the server. Nobody else
-- in the tree can renew meanwhile.
create or replace function holdfast.limit_silence() returns text language sql volatile as
$$ select set_config('idle_in_transaction_session_timeout', '5000', true) $$;

create or replace function holdfast.enter(names text[]) returns holdfast.trees[] language plpgsql as $$
declare
  guard holdfast.trees;
  guards holdfast.trees[] := '{}';
  silence text := holdfast.limit_silence();
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform holdfast.fail('E_CONFIG',
      'a step must see what others have just committed; this transaction is ' || current_setting('transaction_isolation'),
      '{"reason": "unsupported_database"}', 'Call it in a transaction of isolation level READ COMMITTED. For every one of an account: '
        || 'alter role … set default_transaction_isolation = ''read committed''');
  end if;
  if cardinality(names) = 1 then
    select * into guard from holdfast.trees where tree = names[1] for no key update;
    if not found then
      insert into holdfast.trees (tree) values (names[1]) on conflict do nothing;
      select * into guard from holdfast.trees where tree = names[1] for no key update;
    end if;
    return array[guard];
  end if;
  if (select count(*) from holdfast.trees where tree = any (names)) < cardinality(names) then
    insert into holdfast.trees (tree) select name from unnest(names) name order by name collate "C" on conflict do nothing;
  end if;
  for guard in select * from holdfast.trees where tree = any (names) order by tree for no key update loop
    guards := guards || guard;
  end loop;
  return guards;
end $$;

-- Writes back what the step changed of fences and chains.
create or replace function holdfast.leave_guard(guards holdfast.trees[]) returns void language plpgsql as $$
declare
  guard holdfast.trees;
begin
  foreach guard in array guards loop
    update holdfast.trees set
      fence = guard.fence, epoch = guard.epoch, audit_seq = guard.audit_seq, audit_hash = guard.audit_hash
    where tree = guard.tree;
  end loop;
end $$;

create or replace function holdfast.guard_at(guards holdfast.trees[], resource text) returns integer
language plpgsql immutable as $$
declare
  name text;
begin
  if cardinality(guards) = 1 then return 1; end if;
  name := split_part(resource, '/', 1);
  for at in 1 .. cardinality(guards) loop
    if guards[at].tree = name then return at; end if;
  end loop;
  raise exception 'the guard of % is not held', name;
end $$;

-- Returns the first number of a tree in a new epoch. Numbers after `last` may have been given out and lost, by a server
-- whose clock was ahead of this one by up to `fence_skew_ms`. The jump is relative to the clock, not to `last`: so a server
-- that is started again and again does not move away from its clock, and from what its restored copy reaches with one jump.
-- A millisecond at random keeps two servers that begin at once from counting on the same numbers.
create or replace function holdfast.first_fence(last bigint, now bigint) returns bigint language sql volatile as
$$ select greatest(last, (now + s.fence_skew_ms) * 1000) + 1 + floor(random() * 1000)::bigint from holdfast.store s $$;

-- Returns the number after `last`: one more, or the time in microseconds since 1970, whichever is higher. So a clock that
-- is set back takes no number back, and a copy of the store gives out none that its original gave out earlier. All numbers
-- of the store come from here.
create or replace function holdfast.next_fence(last bigint, last_epoch text, epoch text, now bigint) returns bigint
language sql volatile as
$$ select case when last_epoch = epoch then greatest(last + 1, now * 1000) else holdfast.first_fence(last, now) end $$;

-- Gives out the next fencing token of a tree.
create or replace function holdfast.mint(inout guards holdfast.trees[], resource text, now bigint, out token bigint)
language plpgsql as $$
declare
  at integer := holdfast.guard_at(guards, resource);
  guard holdfast.trees := guards[at];
  epoch text := holdfast.epoch();
begin
  token := holdfast.next_fence(guard.fence, guard.epoch, epoch, now);
  guard.fence := token;
  guard.epoch := epoch;
  guards[at] := guard;
end $$;

-- The store, if it is the one the client has met before; a server without it or with another is no free one.
create or replace function holdfast.the_store(known uuid) returns holdfast.store language plpgsql as $$
declare
  st holdfast.store;
begin
  select * into st from holdfast.store;
  if st.store_id is null then
    if known is null then
      perform holdfast.open(null, null, null);
      select * into st from holdfast.store;
    else
      perform holdfast.fail('E_STORE_UNAVAILABLE', 'this server has an empty store, not the one that was opened',
        '{"reason": "no_store"}');
    end if;
  end if;
  if known is not null and st.store_id <> known then
    perform holdfast.fail('E_STORE_UNAVAILABLE', 'this server has another store than the one that was opened',
      '{"reason": "no_store"}');
  end if;
  return st;
end $$;
