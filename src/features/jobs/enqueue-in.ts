/**
 * Adds a job inside a transaction of the caller: together with the caller's rows, or not at all. Only the job's row is
 * written, and in no flow yet, so that a transaction that stays open delays no worker. The next turn puts the job into
 * its flow and on record.
 */

import { invalidArgument } from "../../base/errors.js";
import type { Sql, SqlRow } from "../../client/kernel.js";
import type { NewJob } from "./model.js";
import { rowOf, startOn } from "./scripts/enqueue.js";
import { insertion } from "./scripts/state/insert-job.js";

/** A connection of the caller's own to PostgreSQL, inside a transaction: `pg`'s clients are such. */
export interface PostgresClient {
  query(statement: string, values: unknown[]): Promise<{ readonly rows: readonly SqlRow[] }>;
}

const UNIQUE = `SELECT job FROM jobs WHERE unique_key = ?1 AND state IN ('scheduled', 'ready', 'waiting', 'running')`;

/** `E_INVALID_ARGUMENT`. The number of the job; of the one that is there already when its unique key is in use. */
export function addIn(sql: Sql | PostgresClient, job: NewJob, nowMs: number): number | Promise<number> {
  if (job.cron !== null) throw invalidArgument("cron", "a schedule is added by itself, not in a transaction");
  const row = { ...rowOf(job, nowMs), flow: 0, state: "scheduled" } as const;
  if (!("answersAtOnce" in sql) || !sql.answersAtOnce) return onServer(sql, job, row);
  if (!sql.isOfStore) throw invalidArgument("sql", "is of another file: jobs are added with rows in the store's own");
  const there = job.unique_key === null ? undefined : sql.ours(UNIQUE, [job.unique_key])[0];
  const { sql: statement, values } = insertion(row);
  return numberOf(there ?? sql.ours(statement, values)[0]);
}

/** By the server's clock, unless it is to wait for a time. */
async function onServer(
  sql: { query(statement: string, values: unknown[]): Promise<unknown> },
  job: NewJob,
  { run_at: _, created_at: __, flow: ___, state: ____, payload, ...row }: ReturnType<typeof rowOf>,
): Promise<number> {
  // As a text: the server takes no U+0000 anywhere else.
  const spec = { ...row, payload_json: payload, ...startOn(job) };
  const answer = await sql.query("select holdfast.job_enqueue($1::json) as job", [JSON.stringify(spec)]);
  const [first] = Array.isArray(answer) ? answer : (answer as { readonly rows: readonly SqlRow[] }).rows;
  return numberOf(first);
}

function numberOf(row: SqlRow | undefined): number {
  if (row === undefined) throw new RangeError("a job that was added has a number");
  return Number(row.job);
}
