-- Returns the server's clock, in milliseconds. Not now(): that is when the transaction began, perhaps long before the
-- guard was entered.
create or replace function holdfast.now_ms() returns bigint language sql volatile as
$$ select floor(extract(epoch from clock_timestamp()) * 1000)::bigint $$;

create or replace function holdfast.iso(ms bigint) returns text language sql stable as
$$ select to_char(timestamp 'epoch' + ms * interval '1 millisecond', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') $$;

-- The life of the server that this is, or null where nobody has noted it since the last crash.
create or replace function holdfast.incarnation() returns text language sql stable as
$$ select i.id from holdfast.incarnation i $$;

-- Notes it. Who meets another that is just doing the same waits for that one's transaction: only for short ones.
create or replace function holdfast.incarnate() returns text language plpgsql as $$
begin
  insert into holdfast.incarnation (id) values (gen_random_uuid()::text) on conflict do nothing;
  return (select i.id from holdfast.incarnation i);
end $$;

-- The same as incarnation(), noted by whoever asks first.
create or replace function holdfast.this_life() returns text language sql volatile as
$$ select coalesce(holdfast.incarnation(), holdfast.incarnate()) $$;

-- Returns a text that changes when the server is started, restored, failed over to or has crashed, and that a copy of the
-- database does not share: numbers may have been given out that this server knows nothing of. Volatile, as what it calls: only so it becomes a part of the statement that calls it.
create or replace function holdfast.epoch() returns text language sql volatile as
$$ select substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) || '.' || pg_relation_filepath('holdfast.trees') || '.'
     || extract(epoch from pg_postmaster_start_time()) || '.' || holdfast.this_life() $$;
