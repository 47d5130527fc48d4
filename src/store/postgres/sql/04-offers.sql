-- Version 4: what a place in line is to be given when its turn comes, for a client that listens. Null for others.
alter table holdfast.tickets add column offer json;

update holdfast.store set schema_version = 4;
