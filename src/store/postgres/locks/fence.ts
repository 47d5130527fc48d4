/**
 * Checks the lease of a write. `commit` opens a transaction, locks the grants' rows against every request that would
 * end them, checks them, runs the write and ends the transaction: no other holder comes in between.
 *
 * Not promised: when the connection breaks, or the write takes longer than the transaction may be idle, the lock ends while
 * the write may still be under way. Then the answer is `E_COMMIT_UNCERTAIN`, and only a caller that compares fencing tokens
 * at the target is safe.
 */

import { HoldfastError } from "../../../base/errors.js";
import type { Clock } from "../../../platform/clock.js";
import type { CommitTale, Fence, GrantRef } from "../../contract.js";
import { lacks } from "../../lacking-ability.js";
import { runAtOnce } from "../../run-at-once.js";
import { call } from "../connection/call.js";
import type { Connection, Query } from "../connection/connection.js";
import { readGrants, type TellsTime, type ToldGrant } from "../records.js";
import { partyOf, refsOf } from "./locks.js";

export function createFence(connection: Connection, storeId: string, clock: Clock): Fence {
  return {
    async verify(resource, fencingToken) {
      const told = await connection.ask<TellsTime & { readonly grants: readonly ToldGrant[] }>(() =>
        call("verify", { key: resource, fencing_token: fencingToken, store: storeId }),
      );
      const [grant] = readGrants(told, clock);
      if (grant === undefined) throw new RangeError("verify tells a grant or fails");
      return grant;
    },
    commit: (grants, write, tale) =>
      connection.transaction(async ({ query }) => {
        // mutant: postgres-told-commit: (query, grants, storeId, tale); → (query, grants, storeId, undefined);
        await begin(query, grants, storeId, tale);
        const result = runAtOnce(write);
        try {
          await query("COMMIT");
        } catch (cause) {
          throw uncertain(grants, cause);
        }
        return result;
      }),
    commitFree: lacks("commitsFree"),
  };
}

/** With a tale the entry is there before the write: both are kept, or neither is. */
async function begin(
  query: Query,
  grants: readonly GrantRef[],
  store: string,
  tale: CommitTale | undefined,
): Promise<void> {
  await query("BEGIN ISOLATION LEVEL READ COMMITTED");
  const { text, values } =
    tale === undefined
      ? call("assert_fence", { ...refsOf(grants), store })
      : call("assert_fence_told", { ...refsOf(grants), ...taleOf(tale), store });
  await query(text, values);
}

function taleOf({ event, details, party }: CommitTale): Record<string, unknown> {
  return { event, details: JSON.stringify(details), ...partyOf(party) };
}

function uncertain(grants: readonly GrantRef[], cause: unknown): HoldfastError {
  const keys = grants.map((grant) => grant.resource).join(", ");
  return new HoldfastError(
    "E_COMMIT_UNCERTAIN",
    `the write under ${keys} was made, but the connection that kept others out broke before it was done`,
    { cause, next: ["Verify the lease, and look at what was written, before going on."] },
  );
}
