/**
 * Runs the caller's own statements inside a transaction that is not the caller's: bounded in time, and kept from
 * leaving it.
 */

import { HoldfastError, invalidArgument } from "../../../base/errors.js";
import { sleep } from "../../../base/sleep.js";
import type { Sql, SqlRow } from "../../contract.js";
import type { Connection, Query, Session } from "../connection/connection.js";

/** They would leave the transaction that protects them. */
const LEAVING =
  /^(?:\s|--[^\n]*\n|\/\*[\s\S]*?\*\/)*(begin|start|commit|end|rollback|abort|savepoint|release|prepare|set|reset|discard|listen|lock)\b/i;
const LOOK_UP_MS = 3_000;
const LOOK_EVERY_MS = 100;

type Body<T> = (sql: Sql) => T | Promise<T>;

/** Statements that change nothing; with `snapshot` all of them see one moment. */
export function readRows<T>(connection: Connection, body: Body<T>, snapshot: boolean, limitMs: number): Promise<T> {
  return connection.transaction(async (session) => {
    const { query, callersQuery, cut } = session;
    if (!snapshot) return withinLimit(body, standingAlone(session), limitMs, cut);
    await query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    const result = await withinLimit(body, callersQuery, limitMs, cut);
    await query("COMMIT");
    return result;
  });
}

/** The caller's statements, then COMMIT; one whose answer is lost is looked up. */
export async function writeRows<T>(
  { query, callersQuery, cut }: Session,
  body: Body<T>,
  limitMs: number,
  outcome: () => Promise<string | null>,
): Promise<T> {
  const result = await withinLimit(body, callersQuery, limitMs, cut);
  try {
    await query("COMMIT");
  } catch (error) {
    await settle(outcome, error);
  }
  return result;
}

/** Each statement in a transaction of its own that cannot write. */
function standingAlone({ query, callersQuery }: Session): Query {
  return async (text, values) => {
    await query("BEGIN READ ONLY");
    const rows = await callersQuery(text, values);
    await query("COMMIT");
    return rows;
  };
}

/** Runs the caller's function; when it takes too long the connection is cut, and the server rolls back. */
export async function withinLimit<T>(body: Body<T>, query: Query, limitMs: number, cut: () => void): Promise<T> {
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;
  const sql: Sql = {
    answersAtOnce: false,
    isOfStore: false,
    ours() {
      throw new RangeError("only SQLite answers the store's own statements");
    },
    rows() {
      throw new HoldfastError("E_CONFIG", "PostgreSQL answers later", {
        reason: "unsupported_store",
        next: ["Await sql.query(…)."],
      });
    },
    async query(statement, values = []): Promise<SqlRow[]> {
      if (isOver) throw invalidArgument("sql", "its transaction has ended: use it inside the function it is given to");
      if (LEAVING.test(statement))
        throw invalidArgument("sql", "the statement would leave the transaction or change its rules");
      return query(statement, values);
    },
  };
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      cut();
      reject(tooLong(limitMs));
    }, limitMs);
  });
  try {
    return await Promise.race([body(sql), limit]);
  } finally {
    isOver = true;
    clearTimeout(timer);
  }
}

function tooLong(limitMs: number): HoldfastError {
  return new HoldfastError(
    "E_LOCK_TIMEOUT",
    `the transaction was open for longer than its limit of ${limitMs} ms, and was rolled back`,
    { next: ["Do less in one transaction, or give a larger maxTransactionMs."] },
  );
}

/** Returns when the transaction is committed after all; throws what is known otherwise. */
export async function settle(outcomeOf: () => Promise<string | null>, cause: unknown): Promise<void> {
  const startedAt = performance.now();
  let outcome: string | null = "in progress";
  while (outcome === "in progress" && performance.now() - startedAt < LOOK_UP_MS) {
    await sleep(LOOK_EVERY_MS);
    outcome = await outcomeOf().catch(() => null);
  }
  if (outcome === "committed") return;
  if (outcome === "aborted") throw cause;
  throw new HoldfastError("E_COMMIT_UNCERTAIN", "the connection broke while the transaction was being committed", {
    cause,
    next: ["Look at what was written before going on."],
  });
}
