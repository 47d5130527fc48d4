-- Finds the grants around keys, and converts them to JSON.
-- Grants on these keys, above and below them, each once, by key and token, covers before what nests in them.
create or replace function holdfast.near(keys text[]) returns holdfast.neighbourhood language plpgsql volatile as $$
declare
  nodes text[] := '{}';
  around holdfast.neighbourhood;
begin
  if cardinality(keys) = 1 then
    nodes := holdfast.nodes_of(keys[1]);
    select array_agg(g order by g.resource, g.fencing_token, g.cover is not null, g.created_ms, g.lock_id)
             filter (where g.schema_version = 1),
           array_agg(g.resource) filter (where g.schema_version is distinct from 1)
    into around.grants, around.unreadable
    from (
      select * from holdfast.grants where resource = any (nodes)
      union all
      select * from holdfast.grants where resource > keys[1] || '/' and resource < keys[1] || '0'
    ) as g;
  else
    select array_agg(distinct node) into nodes from unnest(keys) key, unnest(holdfast.nodes_of(key)) node;
    select array_agg(g order by g.resource, g.fencing_token, g.cover is not null, g.created_ms, g.lock_id)
             filter (where g.schema_version = 1),
           array_agg(g.resource) filter (where g.schema_version is distinct from 1)
    into around.grants, around.unreadable
    from (
      select * from holdfast.grants where resource = any (nodes)
      union
      select below.* from unnest(keys) key
        cross join lateral (select * from holdfast.grants where resource > key || '/' and resource < key || '0') as below
    ) as g;
  end if;
  around.grants := coalesce(around.grants, '{}');
  around.unreadable := coalesce(around.unreadable, '{}');
  return around;
end $$;

-- A grant as clients read it. The seal of its token is shown only to a caller that sent the token.
create or replace function holdfast.grant_json(g holdfast.grants, known text[] default '{}') returns json language sql stable as
$$ select json_build_object('schema_version', 1, 'lock_id', g.lock_id, 'resource', g.resource, 'mode', g.mode,
     'owner', g.owner, 'holder_id', g.holder_id, 'nonce', g.nonce, 'created_at', holdfast.iso(g.created_ms),
     'last_renewed_at', holdfast.iso(g.renewed_ms), 'lease_expires_at', holdfast.iso(g.renewed_ms + g.lease_ms),
     'lease_duration_s', g.lease_ms / 1000.0, 'fencing_token', g.fencing_token, 'metadata', g.metadata::json,
     'store', json_build_object('permits', g.permits, 'created_ms', g.created_ms, 'renewed_ms', g.renewed_ms,
       'lease_ms', g.lease_ms, 'grace_ms', g.grace_ms, 'renewals', g.renewals, 'profile', g.profile,
       'detached', g.detached, 'cover', g.cover, 'proof', g.proof::json,
       'token_hash', case when g.token_hash = any (known) then g.token_hash else '' end)) $$;

create or replace function holdfast.grants_json(list holdfast.grants[], known text[] default '{}') returns json
language sql stable as
$$ select coalesce(json_agg(holdfast.grant_json(g, known) order by at), '[]')
   from generate_subscripts(list, 1) as at, lateral (select list[at] as g) as each $$;
