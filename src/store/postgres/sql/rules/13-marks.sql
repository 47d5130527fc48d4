-- Modes, the marks they leave, and the nodes where two holds meet: src/lock/mode.ts and src/lock/marks.ts.
create or replace function holdfast.own_mark(mode text, permits integer) returns text language sql immutable as
$$ select case when permits is not null then 'P' when mode = 'read' then 'R' when mode = 'upgradeable' then 'U' else 'W' end $$;

create or replace function holdfast.ancestor_mark(mode text) returns text language sql immutable as
$$ select case when mode = 'read' then 'IR' else 'IW' end $$;

create or replace function holdfast.compatible(one text, other text) returns boolean language sql immutable as
$$ select case one
     when 'IR' then other <> 'W'
     when 'IW' then other in ('IR', 'IW', 'P')
     when 'R' then other in ('IR', 'R', 'U')
     when 'U' then other in ('IR', 'R')
     when 'P' then other in ('IR', 'IW', 'P')
     else false end $$;

-- The node at which two holds conflict, or null.
create or replace function holdfast.conflict_node(
  resource1 text, mode1 text, permits1 integer, resource2 text, mode2 text, permits2 integer
) returns text language plpgsql immutable as $$
declare
  node text;
  mark1 text;
  mark2 text;
begin
  if resource1 = resource2 or starts_with(resource1, resource2 || '/') then node := resource2;
  elsif starts_with(resource2, resource1 || '/') then node := resource1;
  else return null; end if;
  mark1 := case when resource1 = node then holdfast.own_mark(mode1, permits1) else holdfast.ancestor_mark(mode1) end;
  mark2 := case when resource2 = node then holdfast.own_mark(mode2, permits2) else holdfast.ancestor_mark(mode2) end;
  if holdfast.compatible(mark1, mark2) then return null; end if;
  return node;
end $$;

-- True when holding one already gives everything the other would: what it covers, or the very same again.
create or replace function holdfast.covers(held holdfast.grants, wanted holdfast.want) returns boolean language sql immutable as
$$ select held.permits is null and wanted.permits is null and holdfast.within(wanted.resource, held.resource)
     and (held.mode = 'write' or wanted.mode = 'read' or (held.resource = wanted.resource and held.mode = wanted.mode)) $$;
