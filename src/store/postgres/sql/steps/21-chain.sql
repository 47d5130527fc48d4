-- Appends to the audit chain: the text that is hashed is byte for byte that of src/lock/audit.ts.
create or replace function holdfast.entry_body(
  seq bigint, at_ms bigint, event text, resource text, owner text, holder_id text, fencing_token bigint, lock_id text,
  details text, prev_hash text
) returns text language sql stable as
$$ select '{"seq":' || seq || ',"at":"' || holdfast.iso(at_ms) || '","event":"' || event || '","resource":"' || resource
     || '","owner":' || to_json(owner) || ',"holder_id":' || to_json(holder_id)
     || ',"fencing_token":' || coalesce(fencing_token::text, 'null')
     || ',"lock_id":' || coalesce('"' || lock_id || '"', 'null')
     || ',"details":' || details || ',"prev_hash":"' || prev_hash || '"' $$;

-- Stable, not immutable: what it calls is no more than that, and only so it becomes a part of the statement that calls it.
create or replace function holdfast.entry_hash(body text) returns text language sql stable as
$$ select encode(sha256(convert_to(body || '}', 'UTF8')), 'hex') $$;

-- The details of an entry, with the login that made it in front. Owners are names that callers declare; the login is what the
-- server has checked.
create or replace function holdfast.by_login(details text, login text default session_user) returns text
language sql stable as
$$ select '{"login":' || to_json(login) || case when details = '{}' then '}' else ',' || substr(details, 2) end $$;

-- Puts an entry at the end of its tree's chain, in the step that makes it true.
create or replace function holdfast.append(
  inout guards holdfast.trees[], now bigint, event text, resource text, owner text, holder_id text,
  fencing_token bigint, lock_id text, details text
) language plpgsql as $$
declare
  at integer := holdfast.guard_at(guards, resource);
  guard holdfast.trees := guards[at];
begin
  details := holdfast.by_login(details);
  guard.audit_seq := guard.audit_seq + 1;
  guard.audit_hash := holdfast.entry_hash(holdfast.entry_body(
    guard.audit_seq, now, event, resource, owner, holder_id, fencing_token, lock_id, details, guard.audit_hash));
  insert into holdfast.audit values (
    guard.tree, guard.audit_seq, now, event, resource, owner, holder_id, fencing_token, lock_id, details, guard.audit_hash);
  guards[at] := guard;
end $$;

-- Several entries of one event at the end of one chain, by one statement. What they have in common is written once: the body
-- of an entry without resource, number, details and hash is cut up between them.
create or replace function holdfast.append_all(
  guard holdfast.trees, now bigint, event text, resources text[], owner text, holder_id text, fencing_tokens bigint[],
  details text[]
) returns holdfast.trees language plpgsql as $$
#variable_conflict use_variable
declare
  before bigint := guard.audit_seq;
  hash text := guard.audit_hash;
  hashes text[] := '{}';
  told text[] := array(select holdfast.by_login(each) from unnest(details) each);
  at_event text := ',"at":"' || holdfast.iso(now) || '","event":"' || event || '","resource":"';
  by_holder text := '","owner":' || to_json(owner) || ',"holder_id":' || to_json(holder_id) || ',"fencing_token":';
begin
  for at in 1 .. cardinality(resources) loop
    hash := encode(sha256(convert_to('{"seq":' || before + at || at_event || resources[at] || by_holder
      || coalesce(fencing_tokens[at]::text, 'null') || ',"lock_id":null,"details":' || told[at]
      || ',"prev_hash":"' || hash || '"}', 'UTF8')), 'hex');
    hashes := hashes || hash;
  end loop;
  insert into holdfast.audit
  select guard.tree, before + x.at, now, event, x.resource, owner, holder_id, x.fencing_token, null, x.details, x.hash
  from unnest(resources, fencing_tokens, told, hashes) with ordinality as x (resource, fencing_token, details, hash, at);
  guard.audit_seq := before + cardinality(resources);
  guard.audit_hash := hash;
  return guard;
end $$;

-- What an entry keeps of a holder that was ended.
create or replace function holdfast.previous_holder(g holdfast.grants) returns text language sql stable as
$$ select '{"owner":' || to_json(g.owner) || ',"holder_id":' || to_json(g.holder_id) || ',"nonce":' || to_json(g.nonce)
     || ',"mode":"' || g.mode || '","acquired_at":"' || holdfast.iso(g.created_ms) || '","last_renewed_at":"'
     || holdfast.iso(g.renewed_ms) || '","renewals":' || g.renewals || ',"metadata":' || g.metadata || '}' $$;

-- The beginning of the details of entries that one step leaves in several chains.
create or replace function holdfast.shared(keys text[]) returns text language sql volatile as
$$ select case when cardinality(holdfast.trees_of(keys)) > 1 then '"op_id":"' || gen_random_uuid() || '",' else '' end $$;
