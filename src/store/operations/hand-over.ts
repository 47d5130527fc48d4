/**
 * Hands a released key over: the release grants it, in the same step, to the waiters in its queue that can go now.
 * Between one holder and the next there is then no moment without a holder, and the next one needs no step of its own to
 * acquire the key: once woken, it checks whether it holds the key.
 *
 * The waiter may never learn of its grant. In each of these cases the key still reaches the queue:
 *   its wake-up was lost             it checks with every poll
 *   it gave up at the same moment    it leaves the queue, checks, and releases
 *   it died                          its proof of life shows it, as that of any holder
 *   it is stopped, or hangs          the first lease is short (`FIRST_LEASE_MS`), and the grant is recoverable after it;
 *                                    a waiter that comes back later requests again, and an expired grant of its own is
 *                                    taken over like any other
 * The first renewal makes the lease as long as the waiter requested.
 *
 * Only waiters for exactly this key are granted it: they have the same neighbors, which the step has read. Nothing is
 * handed over where a publish was left unfinished, because settling it may fail, and a release must not fail for that.
 */
import type { AuditDraft } from "../../lock/audit.js";
import { decide, type Neighbourhood } from "../../lock/decide.js";
import type { Bid, Grant, Ticket } from "../../lock/grant.js";
import { isWithin, type Key, treeOf } from "../../lock/key.js";
import { lineWithout } from "../../lock/queue.js";
import { profileOf } from "../../lock/settings.js";
import type { AcquireRequest } from "../contract.js";
import type { LedgerView } from "../ledger.js";
import { entryFor, type OperationContext } from "./context.js";
import { newGrant } from "./new-grant.js";

/** How long a grant lasts of which its holder has not heard yet. */
export const FIRST_LEASE_MS = 10_000;

export interface HandOver {
  readonly grants: readonly Grant[];
  readonly tickets: readonly Ticket[];
  readonly audit: readonly AuditDraft[];
}

export const NOBODY: HandOver = { grants: [], tickets: [], audit: [] };

/** What a waiter's ticket carries so that it can be given the key, or null when it must ask for it. */
export function bidOf(request: AcquireRequest, { settings }: OperationContext): Bid | null {
  const { mayInherit = false, wants, tokenHash, leaseMs, metadata } = request;
  const [want] = wants;
  if (!mayInherit || want === undefined) return null;
  const profile = profileOf(want.resource, settings);
  // The other profiles do not end a grant by its lease alone.
  if (profile !== "default" && profile !== "lease") return null;
  return { tokenHash, leaseMs, graceMs: request.graceMs ?? leaseMs, metadata };
}

/** The grant that was handed to this waiter. */
export function handedTo(near: Neighbourhood, { wants, tokenHash, ticketId }: AcquireRequest): Grant | undefined {
  if (ticketId === null || wants.length > 1) return undefined;
  return near.grants.find((grant) => grant.tokenHash === tokenHash && grant.resource === wants[0]?.resource);
}

/** `near` is the neighbourhood of what is released, which still has `gone`; `next` are those to be woken. */
export function handOver(
  view: LedgerView,
  near: Neighbourhood,
  gone: readonly Grant[],
  next: readonly Ticket[],
  context: OperationContext,
): HandOver {
  const [released] = gone;
  if (released === undefined || next.length === 0) return NOBODY;
  const key = released.resource;
  const heirs = gone.every(({ resource }) => isWithin(resource, key))
    ? next.filter((ticket) => inherits(ticket, key, near.grants))
    : [];
  if (heirs.length === 0 || view.publishing([key]).length > 0) return NOBODY;
  const left = near.grants.filter(({ lockId }) => !gone.some((other) => other.lockId === lockId));
  const grants: Grant[] = [];
  const tickets: Ticket[] = [];
  for (const ticket of heirs) {
    const after: Neighbourhood = {
      grants: [...left, ...grants],
      line: tickets.length === 0 ? near.line : lineWithout(near.line, (other) => tickets.includes(other)),
      unreadable: near.unreadable,
    };
    const grant = mayGo(view, after, ticket, context) ? inherited(view, ticket, context) : null;
    if (grant === null) continue;
    grants.push(grant);
    tickets.push(ticket);
  }
  const audit = grants.map((grant, at) => granted(view, grant, tickets[at]?.bid?.leaseMs ?? grant.leaseMs));
  return { grants, tickets, audit };
}

/** It is its turn; where nothing is held, that is all there is to it. */
function mayGo(view: LedgerView, near: Neighbourhood, ticket: Ticket, { witness, order }: OperationContext): boolean {
  if (near.grants.length === 0 && near.unreadable.length === 0) return true;
  const decision = decide(
    near,
    { wants: ticket.wants, presented: NOTHING, holds: [], ticket, upgradeOf: null, strictOrder: false },
    { now: view.now, witness, order },
  );
  return decision.kind === "grant" && decision.ends.length === 0;
}

function granted(view: LedgerView, grant: Grant, leaseMs: number): AuditDraft {
  const { mode, permits } = grant;
  return entryFor(view, "granted", grant, grant, {
    mode,
    lease_ms: leaseMs,
    ...(permits === null ? {} : { permits }),
    handed_over: true,
    first_lease_ms: grant.leaseMs,
  });
}

/** The lease tokens of one who presents none. */
export const NOTHING: ReadonlySet<string> = new Set();

/** One with a grant of its own that has run out asks for itself: two under one token could not be told apart. */
function inherits({ bid, wants }: Ticket, key: Key, grants: readonly Grant[]): boolean {
  return bid !== null && wants.length === 1 && wants[0]?.resource === key && !isAmong(bid, grants);
}

/** A place that a crash left to one who is in, or has just released: nobody waits there. */
export function isLeftIn({ bid }: Ticket, inside: readonly Grant[]): boolean {
  return bid !== null && isAmong(bid, inside);
}

function isAmong({ tokenHash }: Bid, grants: readonly Grant[]): boolean {
  return grants.some((grant) => grant.tokenHash === tokenHash);
}

function inherited(view: LedgerView, ticket: Ticket, { settings }: OperationContext): Grant | null {
  const { bid } = ticket;
  const [want] = ticket.wants;
  if (bid === null || want === undefined) return null;
  return newGrant(view, want, {
    party: ticket,
    tokenHash: bid.tokenHash,
    // mutant: handed-first-lease: leaseMs: Math.min(bid.leaseMs, FIRST_LEASE_MS), → leaseMs: bid.leaseMs,
    leaseMs: Math.min(bid.leaseMs, FIRST_LEASE_MS),
    graceMs: bid.graceMs,
    fencingToken: view.mint(treeOf(want.resource)),
    profile: profileOf(want.resource, settings),
    detached: false,
    cover: null,
    metadata: bid.metadata,
  });
}
