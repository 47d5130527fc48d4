-- Decides when a grant may be ended without its holder: src/lock/profile.ts. This server does not accept a client's
-- report of a death, so a grant that only a death would end (strict) ends by an administrator alone.
create or replace function holdfast.is_expired(g holdfast.grants, now bigint) returns boolean language sql immutable as
$$ select g.renewed_ms + g.lease_ms <= now $$;

-- Whether an owner is a job that runs: `job:ID` with a slot that is not over. What decides is the slot, not the state.
create or replace function holdfast.is_active_job(owner text, now bigint) returns boolean language plpgsql stable as $$
begin
  if owner !~ '^job:[1-9][0-9]{0,15}$' then return false; end if;
  return exists (select 1 from holdfast.job_slots s where s.job = substr(owner, 5)::bigint and s.until_ms >= now);
end $$;

create or replace function holdfast.recoverable(g holdfast.grants, now bigint) returns boolean language sql stable as
$$ select g.renewed_ms + g.lease_ms <= now and case g.profile
     when 'dal' then g.renewed_ms + g.grace_ms <= now and not holdfast.is_active_job(g.owner, now)
     when 'strict' then false
     else true end $$;

-- The part of an audit entry that says why, without its braces.
create or replace function holdfast.recovery(g holdfast.grants, now bigint) returns text language sql stable as
$$ select '"reason":"lease_expired","evidence":{"life":"unknown","expired_for_ms":'
     || greatest(0, now - g.renewed_ms - g.lease_ms) || '}' $$;

-- The longest prefix that fits decides.
create or replace function holdfast.profile_of(key text, prefixes text[], names text[]) returns text
language plpgsql immutable as $$
declare
  best integer := 0;
  best_name text := 'default';
begin
  for at in 1 .. cardinality(prefixes) loop
    if starts_with(key, prefixes[at]) and length(prefixes[at]) > best then
      best := length(prefixes[at]);
      best_name := names[at];
    end if;
  end loop;
  return best_name;
end $$;
