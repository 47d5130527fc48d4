/**
 * Raises the fence of a tree above a number that a lost history of the store gave out: after a restore, `doctor` finds such
 * numbers in marks outside of the store. It is one durable step with its audit entry, so a crash leaves all of it or
 * nothing. A grant from before keeps its number, which is lower than all that come.
 */
import { HoldfastError, invalidArgument } from "../../base/errors.js";
import type { Key } from "../../lock/key.js";
import { isPerson } from "../../lock/owner.js";
import type { Party } from "../contract.js";
import type { LedgerView, Outcome } from "../ledger.js";

/** Returns the new number. `E_FORBIDDEN` for an owner that is not a person. */
export function raiseFence(view: LedgerView, tree: Key, above: number, party: Party): Outcome<number> {
  // mutant: raise-by-a-person: if (!isPerson(party.owner)) → if (!isPerson(party.owner) && party.owner === "")
  if (!isPerson(party.owner))
    throw new HoldfastError("E_FORBIDDEN", `${party.owner} may not raise fences: only a user or an admin may`);
  if (!Number.isSafeInteger(above) || above < 0) throw invalidArgument("above", "a fencing token");
  const raised = view.mint(tree, above);
  return {
    result: raised,
    changes: {
      durable: true,
      audit: [
        {
          at: view.now.wallMs,
          event: "fence_raised",
          resource: tree,
          owner: party.owner,
          holderId: party.holderId,
          fencingToken: raised,
          lockId: null,
          details: { reason: "after_restore", above },
        },
      ],
    },
  };
}
