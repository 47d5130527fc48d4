-- Reads the audit trail: one line of JSON an entry, the very text its hash was computed from.
create or replace function holdfast.audit(
  tree text, after_seq bigint default 0, page integer default 1000, resource text default null, owner text default null,
  event text default null, since_ms bigint default null, until_ms bigint default null, store uuid default null
) returns setof text language plpgsql security definer set search_path = holdfast, pg_temp as $$
#variable_conflict use_variable
declare
  st holdfast.store := holdfast.the_store(store);
begin
  return query
  select holdfast.entry_body(a.seq, a.at_ms, a.event, a.resource, a.owner, a.holder_id, a.fencing_token, a.lock_id,
      a.details, coalesce((select p.hash from holdfast.audit p where p.tree = a.tree and p.seq = a.seq - 1), repeat('0', 64)))
    || ',"hash":"' || a.hash || '"}'
  from holdfast.audit a
  where a.tree = tree and a.seq > after_seq
    and (resource is null or holdfast.within(a.resource, resource)) and (owner is null or a.owner = owner)
    and (event is null or a.event = event) and (since_ms is null or a.at_ms >= since_ms)
    and (until_ms is null or a.at_ms <= until_ms)
  order by a.seq limit least(page, 50000);
end $$;

-- How many entries each chain has.
create or replace function holdfast.audit_heads(store uuid default null) returns json
language plpgsql security definer set search_path = holdfast, pg_temp as $$
declare
  st holdfast.store := holdfast.the_store(store);
begin
  return (select coalesce(json_object_agg(t.tree, t.audit_seq), '{}') from holdfast.trees t where t.audit_seq > 0);
end $$;

-- Re-reads one chain, or all; names the first entry of each that is not as it was written.
create or replace function holdfast.audit_verify(tree text default null, store uuid default null) returns json
language plpgsql security definer set search_path = holdfast, pg_temp as $$
#variable_conflict use_variable
declare
  st holdfast.store := holdfast.the_store(store);
  guard holdfast.trees;
  a holdfast.audit;
  seq bigint;
  hash text;
  why text;
  chains integer := 0;
  entries bigint := 0;
  bad json[] := '{}';
begin
  for guard in select * from holdfast.trees x
    where case when tree is null then x.audit_seq > 0 else x.tree = tree end order by x.tree
  loop
    chains := chains + 1;
    seq := 0;
    hash := repeat('0', 64);
    why := null;
    for a in select * from holdfast.audit x where x.tree = guard.tree and x.seq <= guard.audit_seq order by x.seq loop
      if a.seq <> seq + 1 or a.hash <> holdfast.entry_hash(holdfast.entry_body(
           a.seq, a.at_ms, a.event, a.resource, a.owner, a.holder_id, a.fencing_token, a.lock_id, a.details, hash)) then
        why := 'altered';
        exit;
      end if;
      seq := a.seq;
      hash := a.hash;
    end loop;
    if why is null and seq < guard.audit_seq then why := 'missing'; end if;
    if why is null and hash <> guard.audit_hash then
      why := 'altered';
      seq := seq - 1;
    end if;
    entries := entries + seq;
    if why is not null then bad := bad || json_build_object('tree', guard.tree, 'seq', seq + 1, 'why', why); end if;
  end loop;
  return json_build_object('ok', cardinality(bad) = 0, 'chains', case when tree is null then chains else 1 end,
    'entries', entries, 'bad', to_json(bad));
end $$;
