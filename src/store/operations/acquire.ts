/**
 * Acquires: decides, then grants everything or nothing. A recoverable grant in the way is stolen: the old grant ends,
 * the new one begins with a higher fencing token, and both are on record, in one step. However many try at once, the
 * guard admits them one after the other, and the second finds the new grant.
 */

import { HoldfastError } from "../../base/errors.js";
import type { AuditDraft } from "../../lock/audit.js";
import { type Decision, decide, type Ending, type Neighbourhood, type Refusal } from "../../lock/decide.js";
import type { Grant, Ticket, Want } from "../../lock/grant.js";
import { type Key, treeOf } from "../../lock/key.js";
import { isExpired, patiently } from "../../lock/profile.js";
import { profileOf } from "../../lock/settings.js";
import type { AcquireRequest, Answer, Presented } from "../contract.js";
import type { LedgerView, Outcome } from "../ledger.js";
import { entryFor, type OperationContext, previousHolder, sharedId, withShared } from "./context.js";
import { bidOf, handedTo, NOTHING } from "./hand-over.js";
import { newGrant } from "./new-grant.js";
import { endOtherNames } from "./one-thing.js";
import { reportContention, standInLine, ticketOf, wakeAfter } from "./queue.js";

export function acquire(view: LedgerView, request: AcquireRequest, context: OperationContext): Outcome<Answer> {
  const near = view.near(request.wants.map((want) => want.resource));
  const ticket = ticketOf(near, request);
  const handed = handedTo(near, request);
  if (handed !== undefined && !isExpired(handed, view.now)) return takeUp(view, handed, request, ticket);
  const decision = decideFor(view, near, ticket, request, context);
  if (decision.kind === "refuse") throw refused(view, near, request.wants, decision);
  if (decision.kind === "wait")
    return standInLine(view, near, decision, {
      wants: request.wants,
      waiting: request,
      party: request.party,
      ticket,
      upgradeOf: null,
      bid: bidOf(request, context),
    });
  if (request.mustSteal && decision.ends.length === 0) throw nothingToSteal(request.wants);

  const stolen = decision.ends.map((ending) => ending.grant);
  const others = endOtherNames(view, { event: "stolen", gone: stolen, party: request.party }, context);
  const grants = issue(view, request, decision.covers, context);
  const gone = others.grants.length === 0 ? stolen : [...stolen, ...others.grants];
  const { next } = wakeAfter(view, near, context, { gone, come: grants, left: ticket });
  return {
    result: { kind: "granted", grants, ended: gone },
    changes: {
      adds: grants,
      drops: gone,
      ticketDrops: ticket === null ? [] : [ticket],
      audit: [...others.audit, ...auditGrants(view, request, grants, decision.ends)],
      wake: others.wake.length === 0 ? next : [...next, ...others.wake],
    },
  };
}

/** It was granted by whoever released it: from now on for as long as was asked for. */
function takeUp(view: LedgerView, handed: Grant, { leaseMs }: AcquireRequest, ticket: Ticket | null): Outcome<Answer> {
  const grant: Grant = { ...handed, leaseMs, renewedAt: view.now };
  return {
    result: { kind: "granted", grants: [grant], ended: [] },
    changes: { updates: [grant], ticketDrops: ticket === null ? [] : [ticket] },
  };
}

/** Whoever waits asks again, so a death that is a moment old is noticed then. Whoever is refused does not. */
function decideFor(
  view: LedgerView,
  near: Neighbourhood,
  ticket: Ticket | null,
  request: AcquireRequest,
  { witness, order }: OperationContext,
): Decision {
  const { now } = view;
  const asked = {
    wants: request.wants,
    presented: hashesOf(request.presented),
    holds: request.presented.map((held) => held.resource),
    ticket,
    upgradeOf: null,
    strictOrder: request.strictOrder,
  };
  if (request.waitMs > 0) {
    const decision = decide(near, asked, { now, witness: patiently(witness, now), order });
    // mutant: refused-patiently: if (decision.kind !== "refuse") return decision; → return decision;
    if (decision.kind !== "refuse") return decision;
  }
  // mutant: just-seen-try: { now, witness, order }); → { now, witness: patiently(witness, now), order });
  return decide(near, asked, { now, witness, order });
}

function hashesOf(presented: readonly Presented[]): ReadonlySet<string> {
  return presented.length === 0 ? NOTHING : new Set(presented.map((held) => held.tokenHash));
}

/** Fences are minted in the global order, answers come in the order asked for. */
function issue(
  view: LedgerView,
  request: AcquireRequest,
  covers: ReadonlyMap<Key, Grant>,
  { order, settings }: OperationContext,
): Grant[] {
  const { wants } = request;
  const inOrder = wants.length === 1 ? wants : [...wants].sort((a, b) => order(a.resource, b.resource));
  const grants = inOrder.map((want) => grantOf(view, request, want, covers.get(want.resource), settings));
  return wants.length === 1 ? grants : wants.map((want) => grants[inOrder.indexOf(want)] as Grant);
}

function grantOf(
  view: LedgerView,
  request: AcquireRequest,
  want: Want,
  cover: Grant | undefined,
  settings: OperationContext["settings"],
): Grant {
  const { party } = request;
  const profile = profileOf(want.resource, settings);
  if (profile === "strict" && party.proof.kind === "none")
    throw new HoldfastError(
      "E_INVALID_ARGUMENT",
      `detached: ${want.resource} has the profile strict, which only proof of death ends; a detached grant has no process`,
      { details: { field: "detached" }, next: ["Bind it to a process (`pid`) or hold it from one."] },
    );
  return newGrant(view, want, {
    party,
    tokenHash: request.tokenHash,
    leaseMs: request.leaseMs,
    graceMs: request.graceMs ?? request.leaseMs,
    fencingToken: cover?.fencingToken ?? view.mint(treeOf(want.resource)),
    profile,
    detached: request.detached,
    cover: cover?.lockId ?? null,
    metadata: request.metadata,
  });
}

function auditGrants(
  view: LedgerView,
  request: AcquireRequest,
  grants: readonly Grant[],
  ends: readonly Ending[],
): AuditDraft[] {
  const shared = sharedId(grants);
  const stolen = ends.map(({ grant, recovery }) => {
    const taker = grants.find((fresh) => treeOf(fresh.resource) === treeOf(grant.resource));
    return entryFor(view, "stolen", grant, request.party, {
      ...shared,
      reason: recovery.reason,
      evidence: recovery.evidence,
      previous: previousHolder(grant),
      old_fencing_token: grant.fencingToken,
      new_fencing_token: taker?.fencingToken ?? null,
      by_lock_id: taker?.lockId ?? null,
    });
  });
  const granted = grants.map((grant) => {
    const details: Record<string, unknown> = { mode: grant.mode, lease_ms: grant.leaseMs };
    if (grant.permits !== null) details.permits = grant.permits;
    if (grant.detached) details.detached = true;
    if (grant.cover !== null) details.nested_in = grant.cover;
    return entryFor(view, "granted", grant, request.party, withShared(shared, details));
  });
  // mutant: steal-on-record: return [...stolen, ...granted]; → return granted;
  return [...stolen, ...granted];
}

/** The error for a decision that no waiting would change. */
export function refused(
  view: LedgerView,
  near: Neighbourhood,
  wants: readonly Want[],
  decision: Refusal,
): HoldfastError {
  const field = decision.code === "E_INVALID_ARGUMENT" ? { field: decision.why.split(":", 1)[0] } : {};
  const details = { ...field, contention: reportContention(view, near, wants, decision.holders) };
  return decision.code === "E_CONFIG"
    ? new HoldfastError(decision.code, decision.why, { reason: decision.reason, details })
    : new HoldfastError(decision.code, decision.why, { details });
}

function nothingToSteal(wants: readonly Want[]): HoldfastError {
  const keys = wants.map((want) => want.resource).join(", ");
  return new HoldfastError("E_NOT_FOUND", `there is no stale lock on ${keys} to steal`, {
    next: ["Acquire it: it is free."],
  });
}
