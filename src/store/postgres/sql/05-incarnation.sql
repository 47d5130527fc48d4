-- Version 5: one life of the server, from one loss of its memory to the next. The row goes with a crash, as everything in an
-- unlogged table does, also with that of a single backend, which starts all others anew under the same postmaster.
create unlogged table holdfast.incarnation (
  singleton boolean primary key default true check (singleton),
  id text not null
);

update holdfast.store set schema_version = 5;
