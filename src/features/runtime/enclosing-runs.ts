/**
 * Finds the runs around this process. A command learns from its environment which runs it is part of:
 *
 *   HOLDFAST_RESOURCE        the keys, separated by blanks
 *   HOLDFAST_FENCING_TOKEN   their fencing tokens, in the same order
 *   HOLDFAST_LEASE_TOKEN     the lease token of all of them
 *   HOLDFAST_OUTER           the runs around that one, the nearest first: TOKEN KEY KEY;TOKEN KEY
 *
 * The first three are always those of the innermost run. A run that is started inside another presents what all of those
 * around it hold: what they cover nests, and what they hold cannot make it wait for itself. Whatever the store does not
 * confirm as held right now, by this token, is not presented: a leftover in the environment gives no rights.
 */

import { HoldfastError } from "../../base/errors.js";
import type { Holdfast } from "../../client/holdfast.js";
import type { BorrowedLease } from "../../client/lease/borrowed-lease.js";
import type { Lease } from "../../client/lease/lease.js";

interface EnclosingRun {
  readonly token: string;
  readonly keys: readonly string[];
}

const NOT_HELD = new Set(["E_LOCK_NOT_HELD", "E_LOCK_EXPIRED", "E_FENCING_MISMATCH", "E_INVALID_ARGUMENT"]);

/** What the runs around this process hold in this store. */
export async function borrowEnclosing(holdfast: Holdfast, env: NodeJS.ProcessEnv): Promise<BorrowedLease[]> {
  const borrowed: BorrowedLease[] = [];
  for (const { token, keys } of enclosingRuns(env))
    for (const key of keys) {
      const lease = await borrowLive(holdfast, key, token);
      if (lease !== null) borrowed.push(lease);
    }
  return borrowed;
}

async function borrowLive(holdfast: Holdfast, key: string, token: string): Promise<BorrowedLease | null> {
  try {
    const lease = await holdfast.borrow(key, token);
    // mutant: run-stale-token: await lease.verify(); →
    await lease.verify();
    return lease;
  } catch (error) {
    if (error instanceof HoldfastError && NOT_HELD.has(error.code)) return null;
    throw error;
  }
}

/** The environment of a command that runs under this lease. */
export function environmentUnder(lease: Lease, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const outer = enclosingRuns(env).map(({ token, keys }) => [token, ...keys].join(" "));
  const { HOLDFAST_OUTER: _outer, ...rest } = env;
  return {
    ...rest,
    HOLDFAST_RESOURCE: lease.keys.join(" "),
    HOLDFAST_FENCING_TOKEN: lease.fencingTokens.join(" "),
    // mutant: run-inner-token: : lease.token, → : env.HOLDFAST_LEASE_TOKEN ?? lease.token,
    HOLDFAST_LEASE_TOKEN: lease.token,
    ...(outer.length === 0 ? {} : { HOLDFAST_OUTER: outer.join(";") }),
  };
}

/** The nearest first. */
function enclosingRuns({ HOLDFAST_LEASE_TOKEN, HOLDFAST_RESOURCE, HOLDFAST_OUTER }: NodeJS.ProcessEnv): EnclosingRun[] {
  const nearest = HOLDFAST_LEASE_TOKEN && HOLDFAST_RESOURCE ? [`${HOLDFAST_LEASE_TOKEN} ${HOLDFAST_RESOURCE}`] : [];
  return [...nearest, ...(HOLDFAST_OUTER ?? "").split(";")].flatMap((text) => {
    const [token, ...keys] = text.split(" ").filter((word) => word !== "");
    return token === undefined || keys.length === 0 ? [] : [{ token, keys }];
  });
}
