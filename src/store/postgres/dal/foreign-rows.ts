/**
 * Writes rows in a database of the caller's own, on this server or another, apart from the store. The store's grants
 * cannot be checked in its transactions, so writers leave their fencing tokens there, and a token that has been
 * overtaken writes no more:
 *
 *   install   before its first read, a holder of write leaves its token on its resource
 *   raise     so does one of upgradeable, whose own leases may write below it: a higher token stays as it is
 *   write     in the transaction that writes: a higher token on the resource, above or below it refuses
 *
 * All hold an advisory lock on the resource and share those above it until they commit. So an installation waits for every
 * transaction that writes on, above or below its resource at that moment, and its holder reads only after a late writer has
 * committed. Locks are acquired from the top down, one path a transaction: no two wait for each other. The server cuts off
 * a client that stops in the middle after `limitMs`.
 *
 * Marks below a new one that are not higher are removed: the new one covers them. An account that may write to the table of
 * the marks can change them: they keep honest writers apart.
 */

import { HoldfastError, invalidArgument } from "../../../base/errors.js";
import { type Key, nodesOf } from "../../../lock/key.js";
import type { ForeignRows } from "../../contract.js";
import { type Connection, connect, type Query } from "../connection/connection.js";
import { readRows, writeRows } from "./caller-statements.js";

/** Sets our advisory locks apart from other people's. */
const OURS = 1_212_501_063;
const WAIT_MS = 4_000;
const HIGHEST = `select coalesce(json_object_agg(x.tree, x.token), '{}') from (
  select split_part(resource, '/', 1) as tree, max(fencing_token) as token from holdfast_dal.fences group by 1) x`;

export async function openForeignRows(url: string): Promise<ForeignRows> {
  const connection = connect(url);
  try {
    await makeTable(connection);
  } catch (error) {
    await connection.close();
    throw error;
  }
  /** That it was committed is not sure: after a crash the server gives out numbers again, and this may be another's. */
  const outcomeOf = async (id: string): Promise<string | null> =>
    connection.ask<string | null>(() => ({
      text: "select nullif(pg_xact_status($1::xid8), 'committed')",
      values: [id],
    }));
  const beforeReading = (resource: Key, leave: (query: Query) => Promise<void>): Promise<void> =>
    connection.transaction(async ({ query }) => {
      await begin(query, resource, WAIT_MS);
      await leave(query);
      await query("COMMIT");
    });
  return {
    install: (resource, token) => beforeReading(resource, (query) => leaveMark(query, resource, token)),
    raise: (resource, token) => beforeReading(resource, (query) => raiseMark(query, resource, token)),
    write: (resource, fencingToken, body, limitMs) =>
      connection.transaction(async (session) => {
        const id = await begin(session.query, resource, Math.ceil(limitMs));
        await leaveMark(session.query, resource, fencingToken);
        const apart = { ...session, callersQuery: apartFromMarks(session.callersQuery) };
        return writeRows(apart, body, limitMs, () => outcomeOf(id));
      }),
    read: (body, snapshot, limitMs) => readRows(connection, body, snapshot, limitMs),
    async highest() {
      const told = await connection.ask<Readonly<Record<string, number>>>(() => ({ text: HIGHEST, values: [] }));
      return new Map(Object.entries(told).map(([tree, token]) => [tree as Key, token]));
    },
    close() {
      connection.close().catch(() => undefined);
    },
  };
}

/** Whoever comes first makes it; the others need only be allowed to use it. */
async function makeTable(connection: Connection): Promise<void> {
  const isThere = "select to_regclass('holdfast_dal.fences') is not null";
  if (await connection.ask<boolean>(() => ({ text: isThere, values: [] }))) return;
  await connection.transaction(async ({ query }) => {
    await query("BEGIN ISOLATION LEVEL READ COMMITTED");
    await query("select pg_advisory_xact_lock($1, 0)", [OURS]);
    await query("create schema if not exists holdfast_dal");
    await query(
      `create table if not exists holdfast_dal.fences (
         resource text collate "C" primary key, fencing_token bigint not null)`,
    );
    await query("COMMIT");
  });
}

/** Begins and waits for those who write on, above or below the resource. Tells the transaction's id. */
async function begin(query: Query, resource: Key, limitMs: number): Promise<string> {
  await query("BEGIN ISOLATION LEVEL READ COMMITTED");
  const [row] = await query(
    `select pg_current_xact_id()::text as id, set_config('lock_timeout', $1, true),
       set_config('idle_in_transaction_session_timeout', $2, true), set_config('statement_timeout', $2, true)`,
    [String(WAIT_MS), String(limitMs)],
  );
  const nodes = nodesOf(resource);
  await query(
    `select case when at < cardinality($1::text[]) then pg_advisory_xact_lock_shared($2, hashtext($1[at]))
       else pg_advisory_xact_lock($2, hashtext($1[at])) end
     from generate_series(1, cardinality($1::text[])) at order by at`,
    [nodes, OURS],
  );
  return String(row?.id);
}

/** Looks in a statement of its own, which sees what was committed while `begin` waited. */
async function leaveMark(query: Query, resource: Key, fencingToken: number): Promise<void> {
  const [row] = await query(
    `select coalesce(max(fencing_token), 0)::float8 as highest,
       coalesce(max(fencing_token) filter (where resource = $2), 0)::float8 as own
     from holdfast_dal.fences
     where resource = any ($1::text[]) or (resource > $2 || '/' and resource < $2 || '0')`,
    [nodesOf(resource), resource],
  );
  const highest = Number(row?.highest);
  // mutant: postgres-foreign-marks: if (highest > fencingToken) → if (fencingToken < 0)
  if (highest > fencingToken)
    throw new HoldfastError(
      "E_FENCING_MISMATCH",
      `${resource} was written here under token ${highest}, which is higher than ${fencingToken}`,
      { details: { resource, current: [highest] } },
    );
  if (Number(row?.own) !== fencingToken) await putMark(query, resource, fencingToken);
}

async function raiseMark(query: Query, resource: Key, fencingToken: number): Promise<void> {
  const [row] = await query(
    "select coalesce(max(fencing_token), 0)::float8 as highest from holdfast_dal.fences where resource = any ($1::text[])",
    [nodesOf(resource)],
  );
  if (Number(row?.highest) < fencingToken) await putMark(query, resource, fencingToken);
}

async function putMark(query: Query, resource: Key, fencingToken: number): Promise<void> {
  await query(
    `delete from holdfast_dal.fences
     where resource > $1 || '/' and resource < $1 || '0' and fencing_token <= $2`,
    [resource, fencingToken],
  );
  await query(
    `insert into holdfast_dal.fences values ($1, $2)
     on conflict (resource) do update set fencing_token = excluded.fencing_token`,
    [resource, fencingToken],
  );
}

function apartFromMarks(query: Query): Query {
  return (text, values) => {
    if (/holdfast_dal/i.test(text)) throw invalidArgument("sql", "the fence marks are not the caller's to change");
    return query(text, values);
  };
}
