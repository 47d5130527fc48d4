/** Releases a grant: only its holder can, by the grant's own ids, so that a release never ends the grant of a successor. */

import { HoldfastError } from "../../base/errors.js";
import type { Ending, Neighbourhood } from "../../lock/decide.js";
import type { Grant, Ticket } from "../../lock/grant.js";
import { treeOf } from "../../lock/key.js";
import { isExpired, recoverable } from "../../lock/profile.js";
import { lineWithout } from "../../lock/queue.js";
import type { GrantRef, Party } from "../contract.js";
import type { LedgerView, Outcome } from "../ledger.js";
import { entryFor, type OperationContext, previousHolder, sharedId, withShared } from "./context.js";
import { type HandOver, handOver, isLeftIn, NOBODY } from "./hand-over.js";
import { findOwn, notHeld } from "./live-grant.js";
import { wakeAfter } from "./queue.js";

export function release(
  view: LedgerView,
  refs: readonly GrantRef[],
  party: Party,
  context: OperationContext,
): Outcome<void> {
  const gone = refs.map((ref) => findOwn(view, ref)).filter((grant) => grant !== null);
  const first = refs[0];
  if (gone.length === 0 && first !== undefined)
    throw notHeld(first.resource, `you do not hold ${refs.map((ref) => ref.resource).join(", ")} (any more)`);

  const near = view.near(gone.map((grant) => grant.resource));
  const inner = nestedIn(near, gone);
  const dead: Ending[] = [];
  for (const grant of inner) {
    const recovery = recoverable(grant, view.now, context.witness);
    if (recovery !== null) dead.push({ grant, recovery });
  }
  // mutant: nested-goes-first: if (dead.length < inner.length) → if (dead.length > inner.length)
  if (dead.length < inner.length)
    throw new HoldfastError(
      "E_LOCK_ORDER",
      `${inner.map((grant) => grant.resource).join(", ")} nests in what is to be released and must be released first`,
    );
  const shared = sharedId(gone);
  const drops = [...gone, ...inner];
  const ended = dead.map(({ grant, recovery }) =>
    entryFor(view, "recovered", grant, party, {
      ...shared,
      ...recovery,
      previous: previousHolder(grant),
      old_fencing_token: grant.fencingToken,
      new_fencing_token: view.mint(treeOf(grant.resource)),
    }),
  );
  const line = near.line.isEmpty ? EMPTY : serve(view, near, gone, drops, context);
  return {
    result: undefined,
    changes: {
      adds: line.heirs.grants,
      drops,
      ticketDrops: line.ticketDrops,
      audit: [
        ...ended,
        ...gone.map((grant) =>
          entryFor(view, "released", grant, party, withShared(shared, { renewals: grant.renewals })),
        ),
        ...line.heirs.audit,
      ],
      heirs: line.heirs.tickets,
      wake: line.next,
    },
  };
}

interface Served {
  readonly heirs: HandOver;
  readonly ticketDrops: readonly Ticket[];
  /** Those to be told that they may ask. */
  readonly next: readonly Ticket[];
}

const EMPTY: Served = { heirs: NOBODY, ticketDrops: [], next: [] };

/** What the line makes of a release. */
function serve(
  view: LedgerView,
  near: Neighbourhood,
  gone: readonly Grant[],
  drops: readonly Grant[],
  context: OperationContext,
): Served {
  const inside = [...gone, ...near.grants.filter((grant) => !isExpired(grant, view.now))];
  const hasGone = (ticket: Ticket): boolean => isLeftIn(ticket, inside);
  // mutant: handed-twice: , { gone: drops, hasGone }); → , { gone: drops, hasGone: () => !hasGone });
  const { next, over } = wakeAfter(view, near, context, { gone: drops, hasGone });
  const waiting = over.length === 0 ? near : { ...near, line: lineWithout(near.line, (other) => over.includes(other)) };
  const heirs = orNobody(() => handOver(view, waiting, drops, next, context));
  return {
    heirs,
    ticketDrops: [...heirs.tickets, ...over],
    next: next.filter((ticket) => !heirs.tickets.includes(ticket)),
  };
}

/** What cannot be handed over, because a record cannot be read or no number can be reserved, is released all the same. */
function orNobody(handOverNow: () => HandOver): HandOver {
  try {
    return handOverNow();
  } catch (error) {
    if (error instanceof HoldfastError) return NOBODY;
    throw error;
  }
}

/** Grants that nest in one of `outer`, or in something that does, and are not among them. */
export function nestedIn(near: Neighbourhood, outer: readonly Grant[]): Grant[] {
  const inner: Grant[] = [];
  if (near.grants.every(({ cover }) => cover === null)) return inner; // As it mostly is.
  const covers = new Set(outer.map((grant) => grant.lockId));
  for (let known = 0; known < covers.size; ) {
    known = covers.size;
    for (const grant of near.grants)
      if (grant.cover !== null && covers.has(grant.cover) && !covers.has(grant.lockId)) {
        // mutant: nested-however-deep: covers.add(grant.lockId); →
        covers.add(grant.lockId);
        inner.push(grant);
      }
  }
  return inner;
}
