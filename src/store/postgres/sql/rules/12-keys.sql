-- Keys: checks and splits them, as src/lock/key.ts does.
create or replace function holdfast.within(key text, ancestor text) returns boolean language sql immutable as
$$ select key = ancestor or starts_with(key, ancestor || '/') $$;

create or replace function holdfast.tree_of(key text) returns text language sql immutable as
$$ select split_part(key, '/', 1) $$;

-- The key and its ancestors, from the top down.
create or replace function holdfast.nodes_of(key text) returns text[] language plpgsql immutable as $$
declare
  segments text[];
  nodes text[] := '{}';
  node text := '';
begin
  if strpos(key, '/') = 0 then return array[key]; end if;
  segments := string_to_array(key, '/');
  for at in 1 .. cardinality(segments) loop
    node := case when at = 1 then segments[1] else node || '/' || segments[at] end;
    nodes := nodes || node;
  end loop;
  return nodes;
end $$;

create or replace function holdfast.trees_of(keys text[]) returns text[] language plpgsql immutable as $$
begin
  if cardinality(keys) > 0 and keys[1] is null then perform holdfast.invalid('keys', 'a list of keys, in one dimension'); end if;
  if cardinality(keys) = 1 then return array[split_part(keys[1], '/', 1)]; end if;
  return array(select distinct split_part(key, '/', 1) collate "C" as tree from unnest(keys) key order by tree);
end $$;

create or replace function holdfast.check_key(key text, field text default 'key') returns void language plpgsql as $$
begin
  if key is null or key = '' then perform holdfast.invalid(field, 'a key is not empty'); end if;
  if octet_length(key) > 1024 then perform holdfast.invalid(field, 'longer than 1024 bytes'); end if;
  if key !~ '^[A-Za-z0-9._:@+=,~%-]+(/[A-Za-z0-9._:@+=,~%-]+)*$' then
    perform holdfast.invalid(field, to_json(key)::text ||
      ' is no key: segments of letters, digits and . _ - : @ + = , ~ %, joined by /');
  end if;
  if strpos(key, '.') > 0 and key ~ '(^|/)[.][.]?(/|$)' then
    perform holdfast.invalid(field, 'the segments "." and ".." are not allowed');
  end if;
  if octet_length(key) > 63 and (
    cardinality(string_to_array(key, '/')) > 64
    or exists (select 1 from unnest(string_to_array(key, '/')) segment where octet_length(segment) > 128)
  ) then
    perform holdfast.invalid(field, 'more than 64 segments, or one longer than 128 bytes');
  end if;
end $$;

create or replace function holdfast.check_owner(owner text) returns void language plpgsql as $$
begin
  if owner is null or owner !~ '^(agent|job|service|user|admin):[^[:space:][:cntrl:]]+$' or length(owner) > 208 then
    perform holdfast.invalid('owner', coalesce(to_json(owner)::text, 'null') ||
      ' is no agent:…, job:…, service:…, user:… or admin:…');
  end if;
end $$;

create or replace function holdfast.check_metadata(metadata text) returns void language plpgsql as $$
begin
  if metadata is null or octet_length(metadata) > 16384 then
    perform holdfast.invalid('metadata', 'an object of JSON values, at most 16 KiB');
  end if;
  if metadata <> '{}' and json_typeof(metadata::json) <> 'object' then
    perform holdfast.invalid('metadata', 'an object of JSON values');
  end if;
exception when invalid_text_representation then
  perform holdfast.invalid('metadata', 'cannot be read as JSON');
end $$;

create or replace function holdfast.check_duration(ms bigint, field text, shortest bigint, longest bigint) returns void
language plpgsql as $$
begin
  if ms is null or ms < shortest or ms > longest then
    perform holdfast.invalid(field, 'a number of milliseconds from ' || shortest || ' to ' || longest);
  end if;
end $$;

-- A caller proves that it holds a grant by the lease token, or by the token's digest: `sha256:` and its SHA-256. The library
-- sends the digest as a bound parameter, so that the token itself does not leave its process. Returns the digest.
create or replace function holdfast.token_digest(token text) returns text language sql stable as
$$ select case when starts_with(token, 'sha256:') then token
     else 'sha256:' || rtrim(translate(encode(sha256(convert_to(token, 'UTF8')), 'base64'), '+/', '-_'), '=') end $$;

-- Returns what the tables keep of a token: the SHA-256 of its digest. A seal is not accepted in place of a token, because
-- every function seals what a caller sends.
create or replace function holdfast.seal(token text) returns text language sql stable as
$$ select encode(sha256(convert_to(holdfast.token_digest(token), 'UTF8')), 'hex') $$;

create or replace function holdfast.new_token() returns text language sql volatile as
$$ select 'hf_' || left(translate(encode(sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8')),
     'base64'), '+/', '-_'), 32) $$;
