/**
 * The caller's own rows in the store's database, in one transaction with the check of the grants:
 *
 *   BEGIN → assert_fence (the grants' rows are locked, checked, and stay locked) → the caller's statements → COMMIT
 *
 * Nobody takes over before the end: a steal passes over a locked row and reports contention. A client that stops in the
 * middle is cut off by the server after `limitMs`; whoever takes over after that finds nothing of it, and its COMMIT fails.
 * A COMMIT whose answer is lost is looked up by the transaction's id: done, not done, or `E_COMMIT_UNCERTAIN`.
 */

import { sleep } from "../../support/deadline.js";
import { HoldfastError, invalidArgument } from "../../support/errors.js";
import type { GrantRef, Sql, SqlRow, Transactions } from "../contract.js";
import { call } from "./call.js";
import type { Connection, Query, Session } from "./connection.js";
import { refsOf } from "./locks.js";

/** They would leave the transaction that protects them. */
const LEAVING =
  /^(?:\s|--[^\n]*\n|\/\*[\s\S]*?\*\/)*(begin|start|commit|end|rollback|abort|savepoint|release|prepare|set|reset|discard|listen|lock)\b/i;
const LOOK_UP_MS = 3_000;
const LOOK_EVERY_MS = 100;

export function createTransactions(connection: Connection, store: string): Transactions {
  return {
    write: (grants, body, limitMs) =>
      connection.transaction(async (session) => {
        const { query } = session;
        await query("BEGIN ISOLATION LEVEL READ COMMITTED");
        const id = await assertFence(query, grants, limitMs, store);
        const result = await withinLimit(body, session.callersQuery, limitMs, session.cut);
        try {
          await query("COMMIT");
        } catch (error) {
          await settle(connection, id, store, error);
        }
        return result;
      }),
    read: (body, snapshot, limitMs) =>
      connection.transaction(async (session) => {
        const { query, callersQuery, cut } = session;
        if (!snapshot) return withinLimit(body, standingAlone(session), limitMs, cut);
        await query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
        const result = await withinLimit(body, callersQuery, limitMs, cut);
        await query("COMMIT");
        return result;
      }),
  };
}

async function assertFence(query: Query, grants: readonly GrantRef[], limitMs: number, store: string): Promise<string> {
  const { text, values } = call("assert_fence", { ...refsOf(grants), max_ms: Math.ceil(limitMs), store });
  const [row] = await query(text, values);
  return String(row?.assert_fence);
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
async function withinLimit<T>(
  body: (sql: Sql) => T | Promise<T>,
  query: Query,
  limitMs: number,
  cut: () => void,
): Promise<T> {
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;
  const sql: Sql = {
    answersAtOnce: false,
    rows() {
      throw new HoldfastError("E_CONFIG", "PostgreSQL answers later", { next: ["Await sql.query(…)."] });
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
async function settle(connection: Connection, id: string, store: string, cause: unknown): Promise<void> {
  const startedAt = performance.now();
  let outcome: string | null = "in progress";
  while (outcome === "in progress" && performance.now() - startedAt < LOOK_UP_MS) {
    await sleep(LOOK_EVERY_MS);
    outcome = await connection.ask<string | null>(() => call("transaction_outcome", { id, store })).catch(() => null);
  }
  if (outcome === "committed") return;
  if (outcome === "aborted") throw cause;
  throw new HoldfastError("E_COMMIT_UNCERTAIN", "the connection broke while the transaction was being committed", {
    cause,
    next: ["Look at what was written before going on."],
  });
}
