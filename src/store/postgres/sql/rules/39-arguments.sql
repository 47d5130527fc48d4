-- Checks the arguments of callers before anything is written.
create or replace function holdfast.wants_of(keys text[], modes text[], permits integer[]) returns holdfast.want[]
language plpgsql as $$
declare
  wants holdfast.want[] := '{}';
  w holdfast.want;
begin
  if keys is null or cardinality(keys) = 0 or cardinality(keys) > 64 then
    perform holdfast.invalid('keys', 'from 1 to 64 keys');
  end if;
  if cardinality(keys) > 1 and (select count(distinct key) from unnest(keys) key) < cardinality(keys) then
    perform holdfast.invalid('keys', 'the same key twice');
  end if;
  for at in 1 .. cardinality(keys) loop
    perform holdfast.check_key(keys[at]);
    w := (keys[at], coalesce(modes[at], modes[1], 'write'), case when cardinality(permits) = 1 then permits[1] else permits[at] end);
    if w.mode not in ('read', 'upgradeable', 'write') then
      perform holdfast.invalid('mode', w.mode || ' is none of read, upgradeable, write');
    end if;
    if w.permits is not null and (w.mode <> 'write' or w.permits not between 1 and 10000) then
      perform holdfast.invalid('permits', 'a whole number from 1 to 10000, with the mode write');
    end if;
    wants := wants || w;
  end loop;
  return wants;
end $$;

create or replace function holdfast.seals(tokens text[]) returns text[] language plpgsql immutable as $$
begin
  if tokens is null or cardinality(tokens) = 0 then return '{}'; end if;
  return array(select holdfast.seal(token) from unnest(tokens) token);
end $$;

create or replace function holdfast.holder_or_backend(holder_id text) returns text language plpgsql stable as $$
begin
  if holder_id is null then
    return coalesce(host(inet_client_addr()), 'local') || ':' || session_user || ':' || pg_backend_pid() || ':0';
  end if;
  if holder_id = '' or length(holder_id) > 512 then perform holdfast.invalid('holder_id', 'from 1 to 512 characters'); end if;
  return holder_id;
end $$;

-- Who does something: an owner, and a holder, which is the session where none is named.
create or replace function holdfast.checked_holder(owner text, holder_id text) returns text language plpgsql stable as $$
begin
  perform holdfast.check_owner(owner);
  return holdfast.holder_or_backend(holder_id);
end $$;

create or replace function holdfast.check_page(page integer) returns void language plpgsql as $$
begin
  if page is null or page not between 1 and 50000 then perform holdfast.invalid('limit', 'a whole number from 1 to 50,000'); end if;
end $$;

-- Wake-ups go to a channel of this name.
create or replace function holdfast.checked_nonce(nonce text) returns text language plpgsql volatile as $$
begin
  if nonce is null then return replace(gen_random_uuid()::text, '-', ''); end if;
  if nonce !~ '^[A-Za-z0-9._-]+$' or length(nonce) > 48 then
    perform holdfast.invalid('nonce', 'up to 48 letters, digits, dots and dashes');
  end if;
  return nonce;
end $$;

create or replace function holdfast.check_ids(lock_ids text[], ticket_id text, proof text) returns void language plpgsql as $$
declare
  id text;
begin
  if lock_ids is not null then
    foreach id in array lock_ids loop
      if id !~ '^[0-9a-f-]+$' or length(id) <> 36 then perform holdfast.invalid('lock_ids', 'UUIDs in lower case'); end if;
    end loop;
  end if;
  if length(ticket_id) > 64 then perform holdfast.invalid('ticket_id', 'at most 64 characters'); end if;
  if proof is null or octet_length(proof) > 1024 or json_typeof(proof::json) <> 'object' then
    perform holdfast.invalid('proof', 'an object of JSON values, at most 1 KiB');
  end if;
end $$;

create or replace function holdfast.keys_of(grants holdfast.grants[]) returns text[] language sql immutable as
$$ select coalesce(array_agg(g.resource), '{}') from unnest(grants) g $$;
