/**
 * Writes the caller's own rows in the store's database, in one transaction with the check of the grants:
 *
 *   BEGIN → assert_fence (the grants' rows are locked, checked, and stay locked) → the caller's statements → COMMIT
 *
 * No other holder takes over before the end: a steal passes over a locked row and reports contention. The server cuts off a
 * client that stops in the middle after `limitMs`; the next holder finds nothing of it, and its COMMIT fails.
 * A COMMIT whose answer is lost is looked up by the transaction's id: done, not done, or `E_COMMIT_UNCERTAIN`.
 */

import type { GrantRef, Transactions } from "../../contract.js";
import { call } from "../connection/call.js";
import type { Connection, Query } from "../connection/connection.js";
import { refsOf } from "../locks/locks.js";
import { readRows, writeRows } from "./caller-statements.js";

export function createTransactions(connection: Connection, store: string): Transactions {
  const outcomeOf = (id: string): Promise<string | null> =>
    connection.ask<string | null>(() => call("transaction_outcome", { id, store }));
  return {
    write: (grants, body, limitMs) =>
      connection.transaction(async (session) => {
        await session.query("BEGIN ISOLATION LEVEL READ COMMITTED");
        const id = await assertFence(session.query, grants, limitMs, store);
        return writeRows(session, body, limitMs, () => outcomeOf(id));
      }),
    read: (body, snapshot, limitMs) => readRows(connection, body, snapshot, limitMs),
  };
}

async function assertFence(query: Query, grants: readonly GrantRef[], limitMs: number, store: string): Promise<string> {
  const { text, values } = call("assert_fence", { ...refsOf(grants), max_ms: Math.ceil(limitMs), store });
  const [row] = await query(text, values);
  return String(row?.assert_fence);
}
