-- The only global order of nodes: src/lock/order.ts. Levels first, other kinds by depth, then the bytes of the key.
create or replace function holdfast.rank(node text, levels text[]) returns integer language sql immutable as
$$ select coalesce(
     array_position(levels, case when strpos(last, ':') > 0 then split_part(last, ':', 1) else '' end) - 1,
     cardinality(levels) + length(node) - length(replace(node, '/', '')) + 1)
   from (select regexp_replace(node, '^.*/', '') as last) as segment $$;

-- True when the first sorts before the second.
create or replace function holdfast.sorts_before(one text, other text, levels text[]) returns boolean language sql immutable as
$$ select case when a = b then one collate "C" < other collate "C" else a < b end
   from (select holdfast.rank(one, levels) as a, holdfast.rank(other, levels) as b) as ranks $$;
