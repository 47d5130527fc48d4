-- Named locks: a name, a holder, a number of seconds. A lease NAME is the lock runtime:NAME. The window they guard is
-- many statements, each perhaps on a connection of its own, so nothing here hangs on a session.

-- The token, or null: another holder has it, do not run. The same holder of the same login gets a new token, and its old one
-- dies. Holders are public names, so under another login the same name is another holder.
create or replace function holdfast.lease_acquire(
  lease_name text, holder text, ttl_seconds numeric, owner text default null, store uuid default null
) returns text
language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s' as $$
#variable_conflict use_variable
declare
  key text := 'runtime:' || lease_name;
  own holdfast.grants;
  token text := holdfast.new_token();
  guards holdfast.trees[];
  lease_ms bigint := holdfast.lease_ms(ttl_seconds);
  now bigint;
  answer json;
begin
  perform holdfast.check_lease(lease_name, holder);
  perform holdfast.the_store(store);
  guards := holdfast.enter(array[holdfast.tree_of(key)]);
  select * into own from holdfast.grants g where g.resource = key and g.holder_id = holder and g.login = session_user
    and g.mode = 'write' and g.permits is null and g.schema_version = 1 order by g.fencing_token desc limit 1;
  if own.lock_id is not null then
    now := holdfast.now_ms();
    perform holdfast.renew_grants(
      holdfast.resume_grants(guards, array[own], holdfast.seal(token), own.owner, holder, null, now), lease_ms, now);
    return token;
  end if;
  answer := holdfast.acquire(array[key], coalesce(owner, holdfast.lease_owner(holder)),
    lease_ms => lease_ms, token => token, holder_id => holder,
    metadata => json_build_object('holder', holder)::text);
  return case when answer ->> 'kind' = 'granted' then token end;
end $$;

-- True when the lease was still held with this token.
create or replace function holdfast.lease_renew(lease_name text, holder text, token text, ttl_seconds numeric default null)
returns boolean language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s' as $$
declare
  lease_ms bigint := case when ttl_seconds is not null then holdfast.lease_ms(ttl_seconds) end;
begin
  perform holdfast.check_lease(lease_name, holder);
  perform holdfast.enter(array[holdfast.tree_of('runtime:' || lease_name)]);
  if not holdfast.lease_is_held(lease_name, holder, token, true) then return false; end if;
  perform holdfast.renew(array['runtime:' || lease_name], array[token], lease_ms => lease_ms);
  return true;
end $$;

-- True when it was held with this token; a second release is a harmless false.
create or replace function holdfast.lease_release(lease_name text, holder text, token text) returns boolean
language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '4s' as $$
begin
  perform holdfast.check_lease(lease_name, holder);
  perform holdfast.enter(array[holdfast.tree_of('runtime:' || lease_name)]);
  if not holdfast.lease_is_held(lease_name, holder, token, false) then return false; end if;
  return holdfast.release(array['runtime:' || lease_name], array[token], holdfast.lease_owner(holder), holder_id => holder);
end $$;

create or replace function holdfast.lease_is_held(lease_name text, holder text, token text, unexpired boolean)
returns boolean language sql volatile as
$$ select exists (select 1 from holdfast.grants g
     where g.resource = 'runtime:' || lease_name and g.token_hash = holdfast.seal(token) and g.holder_id = holder
       and (not unexpired or not holdfast.is_expired(g, holdfast.now_ms()))) $$;

-- NaN is greater than every number.
create or replace function holdfast.lease_ms(ttl_seconds numeric) returns bigint language plpgsql as $$
begin
  if ttl_seconds is null or ttl_seconds < 1 or ttl_seconds > 86400 then
    perform holdfast.invalid('ttl_seconds', 'a number of seconds from 1 to 86400');
  end if;
  return (ttl_seconds * 1000)::bigint;
end $$;

create or replace function holdfast.check_lease(lease_name text, holder text) returns void language plpgsql as $$
begin
  if holder is null or btrim(holder) = '' then perform holdfast.invalid('holder', 'a lease has a holder'); end if;
  perform holdfast.check_key(lease_name, 'lease_name');
  perform holdfast.check_key('runtime:' || lease_name, 'lease_name');
end $$;

create or replace function holdfast.lease_owner(holder text) returns text language sql immutable as
$$ select case when holder ~ '^(agent|job|service|user|admin):[^[:space:][:cntrl:]]+$' and length(holder) <= 208 then holder
     else 'service:' || left(regexp_replace(holder, '[[:space:][:cntrl:]]', '_', 'g'), 200) end $$;
