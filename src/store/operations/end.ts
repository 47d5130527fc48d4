/**
 * Ends a grant without its holder. Recovery ends only grants that their profile calls recoverable; a break ends one
 * that still looks alive, and needs a person and a written reason. Both raise the fence, and both are on record in the
 * same step.
 */

import { HoldfastError, invalidArgument } from "../../base/errors.js";
import type { Grant } from "../../lock/grant.js";
import { isWithin, treeOf } from "../../lock/key.js";
import { isPerson } from "../../lock/owner.js";
import { recoverable } from "../../lock/profile.js";
import type { EndRequest } from "../contract.js";
import type { LedgerView, Outcome } from "../ledger.js";
import { entryFor, type OperationContext, previousHolder } from "./context.js";
import { endOtherNames } from "./one-thing.js";
import { wakeAfter } from "./queue.js";
import { nestedIn } from "./release.js";

export function end(view: LedgerView, request: EndRequest, context: OperationContext): Outcome<readonly Grant[]> {
  if (request.how === "broken") checkBreak(request);
  const near = view.near([request.resource]);
  const found =
    request.how === "recovered"
      ? near.grants.flatMap((grant) => {
          const recovery = isWithin(grant.resource, request.resource)
            ? recoverable(grant, view.now, context.witness)
            : null;
          return recovery === null ? [] : [{ grant, why: { ...recovery } }];
        })
      : brokenBy(near.grants, request);
  const inner = nestedIn(
    near,
    found.map(({ grant }) => grant),
  ).map((grant) => ({
    grant,
    why: { reason: "its cover was ended" },
  }));
  const all = [...found, ...inner];
  if (all.length === 0) {
    if (request.how === "recovered") return { result: [], changes: null };
    throw new HoldfastError("E_NOT_FOUND", `nothing is held on ${request.resource}`);
  }
  const raised = view.mint(treeOf(request.resource));
  const own = all.map(({ grant }) => grant);
  const others = endOtherNames(view, { event: request.how, gone: own, party: request.party }, context);
  const gone = [...own, ...others.grants];
  return {
    result: gone,
    changes: {
      drops: gone,
      durable: true,
      audit: [
        ...all.map(({ grant, why }) =>
          entryFor(view, request.how, grant, request.party, {
            ...why,
            previous: previousHolder(grant),
            old_fencing_token: grant.fencingToken,
            new_fencing_token: raised,
          }),
        ),
        ...others.audit,
      ],
      wake: [...wakeAfter(view, near, context, { gone }).next, ...others.wake],
    },
  };
}

function checkBreak({ party, reason }: EndRequest): void {
  // mutant: break-by-a-person: if (!isPerson(party.owner)) → if (!isPerson(party.owner) && party.owner === "")
  if (!isPerson(party.owner))
    throw new HoldfastError("E_FORBIDDEN", `${party.owner} may not break locks: only a user or an admin may`);
  if (reason === null || reason.trim() === "") throw invalidArgument("reason", "a break needs a written reason");
}

function brokenBy(grants: readonly Grant[], { resource, reason }: EndRequest) {
  return grants.filter((grant) => grant.resource === resource).map((grant) => ({ grant, why: { reason } }));
}
