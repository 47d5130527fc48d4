/**
 * A fenced transaction: the caller's own rows and the check of its lease are one step of the store's database.
 * Transactions do not nest: one inside another would either wait for it for ever or commit apart from it.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { checkOptions, type OptionNames } from "../../base/check-options.js";
import { type Duration, parseDuration } from "../../base/duration.js";
import { HoldfastError, invalidArgument } from "../../base/errors.js";
import type { GrantRef, Sql, Store, Transactions } from "../../store/contract.js";

const DEFAULT_LIMIT_MS = 5_000;
const LIMITS = { atLeastMs: 10, atMostMs: 10 * 60_000 };

export interface TransactionOptions {
  /** Open longer than this, it is rolled back. Default 5 s. */
  readonly maxTransactionMs?: Duration;
}

const TRANSACTION: OptionNames<TransactionOptions> = { maxTransactionMs: true };

/** What a transaction has begun stays inside it for as long as it lasts itself, so that it is over has to be told. */
const inside = new AsyncLocalStorage<{ isOver: boolean }>();

/** `E_CONFIG` where the store is no database, `E_INVALID_ARGUMENT` inside another transaction. */
export async function runTransaction<T>(
  store: Store,
  grants: readonly GrantRef[],
  body: (sql: Sql) => T | Promise<T>,
  options: TransactionOptions,
): Promise<T> {
  checkOptions(options, TRANSACTION);
  const limitMs = parseLimit(options.maxTransactionMs);
  const transactions = transactionsOf(store);
  return alone(() => transactions.write(grants, body, limitMs));
}

export function parseLimit(limit: Duration | undefined): number {
  return parseDuration(limit ?? DEFAULT_LIMIT_MS, "maxTransactionMs", LIMITS);
}

/** Call it where a transaction is asked for: the outer one may be over before it would begin. */
export function assertOutside(): void {
  if (inside.getStore()?.isOver === false)
    throw invalidArgument("transaction", "transactions do not nest: end the outer one first");
}

/** Refuses to run inside another one. */
export async function alone<T>(run: () => Promise<T>): Promise<T> {
  assertOutside();
  const own = { isOver: false };
  try {
    return await inside.run(own, run);
  } finally {
    // mutant: transaction-over: own.isOver = true; → own.isOver = false;
    own.isOver = true;
  }
}

export function transactionsOf({ transactions, url }: Pick<Store, "transactions" | "url">): Transactions {
  if (transactions !== null) return transactions;
  throw new HoldfastError("E_CONFIG", `${url} is no database, so it has no transactions for rows of your own`, {
    reason: "unsupported_store",
    next: ["Use a store on SQLite or PostgreSQL, or lease.commit(fn) for a file."],
  });
}
