/**
 * Checks that a key is free before a change that needs no holder: no grant stands in the way of a write, or only one
 * that is over.
 */

import { HoldfastError } from "../../base/errors.js";
import type { Key } from "../../lock/key.js";
import { conflictNode } from "../../lock/marks.js";
import { recoverable } from "../../lock/profile.js";
import type { LedgerView } from "../ledger.js";
import type { OperationContext } from "./context.js";
import { reportContention } from "./queue.js";

/** `E_LOCK_CONFLICT` while somebody holds it, above it or below it. Nothing is taken and nothing is ended. */
export function requireFree(view: LedgerView, resource: Key, { witness }: OperationContext): void {
  const want = { resource, mode: "write", permits: null } as const;
  const near = view.near([resource]);
  const holders = near.grants.filter(
    (grant) => conflictNode(grant, want) !== null && recoverable(grant, view.now, witness) === null,
  );
  const [first] = holders;
  if (first === undefined && near.unreadable.length === 0) return;
  throw new HoldfastError(
    "E_LOCK_CONFLICT",
    first === undefined
      ? `a record on ${resource} cannot be read, so it counts as held`
      : `${resource} is held by ${first.owner}`,
    { details: { contention: reportContention(view, near, [want], holders) } },
  );
}
