/**
 * Ends the other names of what a step ends: `worktree:NAME` and the files of its payload, `deliverable:ID` and its folder, a
 * publish key and its target (lock/one-thing.ts). Acquire, upgrade and end call it, so all names end in one step, and no
 * request finds one of them held by a holder that has lost another.
 *
 * A name that is stolen or recovered takes those with it that are recoverable as well: one with the profile `strict` is
 * never ended by time. A break ends them all.
 */
import type { AuditDraft } from "../../lock/audit.js";
import type { Grant, Ticket } from "../../lock/grant.js";
import { treeOf } from "../../lock/key.js";
import { otherNames } from "../../lock/one-thing.js";
import { recoverable } from "../../lock/profile.js";
import type { Party } from "../contract.js";
import type { LedgerView } from "../ledger.js";
import { entryFor, type OperationContext, previousHolder } from "./context.js";
import { wakeAfter } from "./queue.js";
import { nestedIn } from "./release.js";

interface Ended {
  readonly grants: readonly Grant[];
  readonly audit: readonly AuditDraft[];
  readonly wake: readonly Ticket[];
}

const NOTHING: Ended = { grants: [], audit: [], wake: [] };

interface End {
  readonly event: "stolen" | "recovered" | "broken";
  /** All that the step ends anyway. */
  readonly gone: readonly Grant[];
  readonly party: Party;
}

export function endOtherNames(view: LedgerView, { event, gone, party }: End, context: OperationContext): Ended {
  const names = gone.flatMap((grant) => otherNames(grant).map((name) => ({ name, of: grant })));
  if (names.length === 0) return NOTHING;
  const near = view.near([...new Set(names.map(({ name }) => name))]);
  const isOther = (grant: Grant): boolean =>
    names.some(({ name, of }) => name === grant.resource && of.tokenHash === grant.tokenHash) &&
    !gone.some(({ lockId }) => lockId === grant.lockId) &&
    (event === "broken" || recoverable(grant, view.now, context.witness) !== null);
  // mutant: one-thing: const found = near.grants.filter(isOther); → const found = near.grants.filter((grant) => !isOther(grant)).slice(0, 0);
  const found = near.grants.filter(isOther);
  const grants = [
    ...found,
    ...nestedIn(near, found).filter(({ lockId }) => !gone.some((other) => other.lockId === lockId)),
  ];
  const audit = grants.map((grant) =>
    entryFor(view, event, grant, party, {
      reason: "another name of it was ended",
      previous: previousHolder(grant),
      old_fencing_token: grant.fencingToken,
      new_fencing_token: view.mint(treeOf(grant.resource)),
    }),
  );
  return { grants, audit, wake: wakeAfter(view, near, context, { gone: [...gone, ...grants] }).next };
}
