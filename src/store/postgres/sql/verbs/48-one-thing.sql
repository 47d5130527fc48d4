-- Ends the other names of what a step ends: src/store/operations/one-thing.ts.

-- The other keys of what this grant is one name of. Metadata are the caller's: anything may stand there.
create or replace function holdfast.other_names(g holdfast.grants) returns text[] language plpgsql immutable as $$
declare
  groups json;
  names json;
  list text[] := '{}';
begin
  -- No key has that character, and the server cannot read it.
  if strpos(g.metadata, '"one_thing"') = 0 or strpos(g.metadata, '\u0000') > 0 then return list; end if;
  groups := g.metadata::json -> 'one_thing';
  if json_typeof(groups) is distinct from 'array' then return list; end if;
  for names in select x.value from json_array_elements(groups) x loop
    continue when json_typeof(names) <> 'array';
    continue when exists (select 1 from json_array_elements(names) x where json_typeof(x.value) <> 'string');
    if exists (select 1 from json_array_elements_text(names) x where x.value = g.resource) then
      list := list || array(select x.value from json_array_elements_text(names) x);
    end if;
  end loop;
  return array(select distinct name from unnest(list) name where name <> g.resource);
end $$;

-- Takes the guards of more trees in the middle of a step. It does not wait, for that would be out of the order of names:
-- when a guard is not free, the transaction is to be begun anew, as after a deadlock.
create or replace function holdfast.enter_also(guards holdfast.trees[], names text[]) returns holdfast.trees[]
language plpgsql as $$
declare
  guard holdfast.trees;
  more text[] := array(select name from unnest(names) name where name not in (select x.tree from unnest(guards) x));
  missing integer := (select count(*) from holdfast.trees where tree = any (more));
begin
  for guard in select * from holdfast.trees where tree = any (more) order by tree for no key update skip locked loop
    guards := guards || guard;
    missing := missing - 1;
  end loop;
  if missing > 0 then
    raise exception using errcode = '40001', message = 'another step is in ' || array_to_string(more, ', ') || '; begin anew';
  end if;
  return guards;
end $$;

create or replace function holdfast.end_other_names(
  inout guards holdfast.trees[], gone holdfast.grants[], event text, owner text, holder_id text, now bigint,
  out others holdfast.grants[]
) language plpgsql as $$
#variable_conflict use_variable
declare
  names text[] := '{}';
  near holdfast.neighbourhood;
  raised bigint;
  g holdfast.grants;
begin
  others := '{}';
  foreach g in array gone loop names := names || holdfast.other_names(g); end loop;
  if cardinality(names) = 0 then return; end if;
  names := array(select distinct name from unnest(names) name);
  guards := holdfast.enter_also(guards, holdfast.trees_of(names));
  near := holdfast.near(names);
  others := array(
    select x from unnest(near.grants) x
    where exists (select 1 from unnest(gone) o where o.token_hash = x.token_hash and x.resource = any (holdfast.other_names(o)))
      and x.lock_id not in (select o.lock_id from unnest(gone) o)
      and (event = 'broken' or (holdfast.recoverable(x, now) and holdfast.may_end(x))));
  others := others || array(
    select x from unnest(holdfast.nested_in(near.grants, others)) x
    where x.lock_id not in (select o.lock_id from unnest(gone) o));
  foreach g in array others loop
    select x.guards, x.token into guards, raised from holdfast.mint(guards, g.resource, now) x;
    guards := holdfast.append(guards, now, event, g.resource, owner, holder_id, g.fencing_token, g.lock_id,
      '{"reason":"another name of it was ended","previous":' || holdfast.previous_holder(g) || ',"old_fencing_token":' ||
      g.fencing_token || ',"new_fencing_token":' || raised || '}');
  end loop;
  perform holdfast.drop_grants(others);
  perform holdfast.wake_after(holdfast.near_tickets(holdfast.trees_of(names), names), near.grants, gone || others, '{}',
    null, now);
end $$;
