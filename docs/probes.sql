-- The seven probes of the runtime lease, T1 to T7. Run with `psql -f docs/probes.sql URL`; nothing but audit entries is left. Each statement stands
-- alone, so it may run on a connection of its own. The answers are checked by the statements themselves: a probe that fails
-- raises an error. Tokens go from one statement to the next through a table, as a program would keep them in a variable.
create table if not exists public.holdfast_probe (name text primary key, token text);

-- T1 holder A acquires: a token
insert into public.holdfast_probe values ('a1', holdfast.lease_acquire('probe', 'A', 60));
do $$ begin assert (select token is not null from public.holdfast_probe where name = 'a1'), 'T1'; end $$;

-- T2 holder B asks for the same lease: null, A has it
do $$ begin assert holdfast.lease_acquire('probe', 'B', 60) is null, 'T2'; end $$;

-- T3 holder A acquires again: a new token, and the old one is dead
insert into public.holdfast_probe values ('a2', holdfast.lease_acquire('probe', 'A', 60));
do $$ begin assert (select token is not null from public.holdfast_probe where name = 'a2'), 'T3'; end $$;
do $$ begin assert not holdfast.lease_renew('probe', 'A', (select token from public.holdfast_probe where name = 'a1')), 'T3'; end $$;

-- T4 release with a wrong token, or as another holder: false
do $$ begin assert not holdfast.lease_release('probe', 'A', 'hf_wrong'), 'T4'; end $$;
do $$ begin assert not holdfast.lease_release('probe', 'B', (select token from public.holdfast_probe where name = 'a2')), 'T4'; end $$;

-- T5 release with holder and token: true, and the lease is gone; once more: a harmless false
do $$ begin assert holdfast.lease_release('probe', 'A', (select token from public.holdfast_probe where name = 'a2')), 'T5'; end $$;
do $$ begin assert holdfast.inspect('runtime:probe') ->> 'grants' = '[]', 'T5'; end $$;
do $$ begin assert not holdfast.lease_release('probe', 'A', (select token from public.holdfast_probe where name = 'a2')), 'T5'; end $$;

-- T6 after the release B gets in
insert into public.holdfast_probe values ('b1', holdfast.lease_acquire('probe', 'B', 1));
do $$ begin assert (select token is not null from public.holdfast_probe where name = 'b1'), 'T6'; end $$;

-- T7 an expired lease is reclaimed by another holder, and its old holder can do nothing any more
select pg_sleep(1.1);
insert into public.holdfast_probe values ('a3', holdfast.lease_acquire('probe', 'A', 60));
do $$ begin assert (select token is not null from public.holdfast_probe where name = 'a3'), 'T7'; end $$;
do $$ begin assert not holdfast.lease_renew('probe', 'B', (select token from public.holdfast_probe where name = 'b1')), 'T7'; end $$;

do $$ begin assert holdfast.lease_release('probe', 'A', (select token from public.holdfast_probe where name = 'a3')), 'end'; end $$;
drop table public.holdfast_probe;
