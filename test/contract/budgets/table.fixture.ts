/**
 * Budgets: what an operation costs, in counts that no load of the machine changes. Each count is exact, so that a change of it
 * is seen in the commit that makes it: a rise has to be explained there, a fall has to be recorded, or it would not last.
 *
 * The operations on stores are those of `client.fixture.mjs`, in its order; a detached request is `polled` while it waits. `first` is the first of its kind in a new
 * store. A commit and a release follow an acquire of one key; a publish puts one file in place, under a lease that is in hand.
 */
import { expect } from "vitest";

/** Maps the name of a count to the count. */
type Counts = Readonly<Record<string, number>>;

/**
 * Records the counts. `transactions` are the write transactions of a store: on the file store, the guards that were entered,
 * one for each tree of a transaction; on SQLite, `BEGIN IMMEDIATE`. `syncs` are calls of fsync and fdatasync. `roundTrips` are the messages to
 * which a PostgreSQL server answers that it is ready, `statements` the statements in them.
 */
export const BUDGETS = {
  file: {
    "first acquire": { transactions: 3, syncs: 2 },
    "first commit": { transactions: 1, syncs: 0 },
    "first release": { transactions: 1, syncs: 0 },
    acquire: { transactions: 1, syncs: 0 },
    commit: { transactions: 1, syncs: 0 },
    release: { transactions: 1, syncs: 0 },
    "detached acquire": { transactions: 1, syncs: 3 },
    "detached acquire, queued": { transactions: 1, syncs: 2 },
    "detached acquire, polled": { transactions: 1, syncs: 0 },
    "detached release": { transactions: 1, syncs: 3 },
    "first publish": { transactions: 6, syncs: 26 },
    publish: { transactions: 6, syncs: 22 },
  },
  sqlite: {
    "first acquire": { transactions: 3, syncs: 1 },
    "first commit": { transactions: 1, syncs: 0 },
    "first release": { transactions: 1, syncs: 0 },
    acquire: { transactions: 1, syncs: 0 },
    commit: { transactions: 1, syncs: 0 },
    release: { transactions: 1, syncs: 0 },
    "detached acquire": { transactions: 1, syncs: 1 },
    "detached acquire, queued": { transactions: 1, syncs: 1 },
    "detached acquire, polled": { transactions: 1, syncs: 0 },
    "detached release": { transactions: 2, syncs: 1 },
    "first publish": { transactions: 3, syncs: 6 },
    publish: { transactions: 3, syncs: 6 },
    "first job added": { transactions: 1, syncs: 1 },
    "first job round": { transactions: 3, syncs: 1 },
    "job added": { transactions: 1, syncs: 1 },
    "job round": { transactions: 1, syncs: 0 },
  },
  postgres: {
    "first acquire": { roundTrips: 1, statements: 1 },
    "first commit": { roundTrips: 3, statements: 3 },
    "first release": { roundTrips: 1, statements: 1 },
    acquire: { roundTrips: 1, statements: 1 },
    commit: { roundTrips: 3, statements: 3 },
    release: { roundTrips: 1, statements: 1 },
    "detached acquire": { roundTrips: 1, statements: 1 },
    "detached acquire, queued": { roundTrips: 1, statements: 1 },
    "detached acquire, polled": { roundTrips: 1, statements: 1 },
    "detached release": { roundTrips: 1, statements: 1 },
    "first publish": { roundTrips: 6, statements: 6 },
    publish: { roundTrips: 6, statements: 6 },
    "first job added": { roundTrips: 2, statements: 3 },
    "first job round": { roundTrips: 2, statements: 3 },
    "job added": { roundTrips: 2, statements: 3 },
    "job round": { roundTrips: 2, statements: 3 },
  },
  /** Of a command on SQLite: modules of Node that it asks for, and scripts and addons that it loads. */
  command: {
    "lock status": { builtins: 14, files: 7 },
    "first hook check": { builtins: 15, files: 7 },
    "hook check": { builtins: 15, files: 7 },
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, Counts>>>>;

/**
 * Throws unless the operations of this group were measured, and each count that was found is the recorded one. `details` are
 * printed below an operation whose count is another one.
 */
export function expectBudgets(
  group: keyof typeof BUDGETS,
  found: Readonly<Record<string, Counts>>,
  details: Readonly<Record<string, string>> = {},
): void {
  const budgets: Readonly<Record<string, Counts>> = BUDGETS[group];
  expect(Object.keys(found), `the operations of ${group}`).toEqual(Object.keys(budgets));
  const complaints = Object.entries(found).flatMap(([operation, counts]) => {
    const wrong = Object.entries(counts).filter(([name, count]) => budgets[operation]?.[name] !== count);
    const lines = wrong.map(([name, count]) => complaint(`${operation}: ${name}`, budgets[operation]?.[name], count));
    return wrong.length === 0 ? [] : [...lines, ...(details[operation] ?? "").split("\n")];
  });
  if (complaints.length > 0)
    throw new Error(
      `budgets of ${group}, recorded in test/contract/budgets/table.fixture.ts:\n${complaints.join("\n")}`,
    );
}

function complaint(what: string, expected = 0, found = 0): string {
  return found > expected
    ? `${what} rose: expected ${expected}, found ${found}. If that is wanted, record ${found}, and give the reason in a line of the commit body.`
    : `${what} fell: expected ${expected}, found ${found}. Record ${found}, so that it does not rise again unseen.`;
}
