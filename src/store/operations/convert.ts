/** Upgrades and downgrades: a grant changes its mode, and no other request gets in between. */

import { HoldfastError, invalidArgument } from "../../base/errors.js";
import { decide } from "../../lock/decide.js";
import type { Grant, Want } from "../../lock/grant.js";
import { treeOf } from "../../lock/key.js";
import type { Answer, GrantRef, Party, UpgradeRequest } from "../contract.js";
import type { LedgerView, Outcome } from "../ledger.js";
import { refused } from "./acquire.js";
import { entryFor, type OperationContext, previousHolder } from "./context.js";
import { requireOwn } from "./live-grant.js";
import { endOtherNames } from "./one-thing.js";
import { standInLine, ticketOf, wakeAfter } from "./queue.js";
import { nestedIn } from "./release.js";

export function upgrade(view: LedgerView, request: UpgradeRequest, context: OperationContext): Outcome<Answer> {
  const current = requireOwn(view, request.grant);
  if (current.mode === "write") return { result: { kind: "granted", grants: [current], ended: [] }, changes: null };
  if (current.mode === "read")
    throw invalidArgument("mode", `a reader cannot upgrade: take ${current.resource} as upgradeable from the start`);

  const wants: Want[] = [{ resource: current.resource, mode: "write", permits: null }];
  const near = view.near([current.resource]);
  const ticket = ticketOf(near, request);
  const decision = decide(
    near,
    {
      wants,
      presented: new Set([current.tokenHash, ...request.presented.map((held) => held.tokenHash)]),
      holds: [current.resource, ...request.presented.map((held) => held.resource)],
      ticket,
      upgradeOf: current,
      strictOrder: false,
    },
    { now: view.now, witness: context.witness, order: context.order },
  );
  if (decision.kind === "refuse") throw refused(view, near, wants, decision);
  if (decision.kind === "wait") {
    const { party } = request;
    return standInLine(view, near, decision, {
      wants,
      waiting: request,
      party,
      ticket,
      upgradeOf: current.lockId,
      bid: null,
    });
  }
  const stolen = decision.ends.map((ending) => ending.grant);
  const upgraded: Grant = { ...current, mode: "write", fencingToken: view.mint(treeOf(current.resource)) };
  const others = endOtherNames(view, { event: "stolen", gone: stolen, party: request.party }, context);
  const ended = [...stolen, ...others.grants];
  return {
    result: { kind: "granted", grants: [upgraded], ended },
    changes: {
      updates: [upgraded],
      drops: ended,
      ticketDrops: ticket === null ? [] : [ticket],
      wake: others.wake,
      audit: [
        ...decision.ends.map(({ grant, recovery }) =>
          entryFor(view, "stolen", grant, request.party, {
            ...recovery,
            previous: previousHolder(grant),
            old_fencing_token: grant.fencingToken,
            new_fencing_token: upgraded.fencingToken,
            by_lock_id: upgraded.lockId,
          }),
        ),
        entryFor(view, "upgraded", upgraded, request.party, { mode: "write", old_fencing_token: current.fencingToken }),
        ...others.audit,
      ],
    },
  };
}

export function downgrade(
  view: LedgerView,
  refs: readonly GrantRef[],
  party: Party,
  context: OperationContext,
): Outcome<readonly Grant[]> {
  const current = refs.map((ref) => requireOwn(view, ref));
  if (current.some((grant) => grant.permits !== null)) throw invalidArgument("mode", "a permit has no mode to lower");
  const higher = current.filter((grant) => grant.mode !== "read");
  if (higher.length === 0) return { result: current, changes: null };
  const near = view.near(higher.map((grant) => grant.resource));
  const inner = nestedIn(near, higher);
  if (inner.length > 0)
    throw new HoldfastError(
      "E_LOCK_ORDER",
      `${inner.map((grant) => grant.resource).join(", ")} nests in what is to be lowered and must be released first`,
    );
  const lower = (grant: Grant): Grant => ({ ...grant, mode: "read" });
  const lowered = higher.map(lower);
  return {
    result: current.map(lower),
    changes: {
      updates: lowered,
      audit: higher.map((grant) => entryFor(view, "downgraded", grant, party, { mode: "read", from: grant.mode })),
      wake: wakeAfter(view, near, context, { come: lowered }).next,
    },
  };
}
