/**
 * The rules of locking: from all grants and tickets around a request, `decide` grants the request, makes it wait, or
 * refuses it. Pure; every store that keeps grants itself calls it inside its guard.
 *
 * No two grants of different holders conflict: every new or stronger grant is decided here, on the state in that step, and
 * a conflicting grant either blocks it or is among the `ends`, which the same step removes. A commit then only has to find
 * its own grant (ARCHITECTURE.md has the rest of the argument).
 *
 * Requests do not deadlock: a request without held tokens waits without holding. One with held tokens waits only while every
 * node where a holder blocks it sorts after every node that these tokens hold, and it waits for holders only, never behind
 * the queue. So along any chain of "waits for" the nodes grow, and no chain closes. Every other request is refused at once
 * with `E_LOCK_ORDER`.
 */
import type { ErrorReason } from "../base/errors.js";
import type { Grant, Ticket, UnreadableGrant, Want } from "./grant.js";
import { isWithin, type Key, nodesOf } from "./key.js";
import { conflictNode } from "./marks.js";
import { covers } from "./mode.js";
import type { NodeOrder } from "./order.js";
import { isForeign, type Recovery, recoverable, ticketStands, type Witness } from "./profile.js";
import { byNumber, type Line, standsInTheWay } from "./queue.js";
import type { Instant } from "./time.js";

/** Grants and waiters on the wanted keys, their ancestors and their descendants. Nothing else matters. */
export interface Neighbourhood {
  readonly grants: readonly Grant[];
  readonly line: Line;
  readonly unreadable: readonly UnreadableGrant[];
}

export interface Request {
  readonly wants: readonly Want[];
  /** Hashes of the lease tokens presented: grants with these are the client's own. */
  readonly presented: ReadonlySet<string>;
  /** Keys of everything the client holds, also far from here: what it may wait for is judged by them. */
  readonly holds: readonly Key[];
  readonly ticket: Ticket | null;
  /** The grant being upgraded, if that is what is asked. */
  readonly upgradeOf: Grant | null;
  /** `strict` refuses a key that sorts before a held one even when it is free. */
  readonly strictOrder: boolean;
}

export interface Circumstances {
  readonly now: Instant;
  readonly witness: Witness;
  readonly order: NodeOrder;
}

export interface Ending {
  readonly grant: Grant;
  readonly recovery: Recovery;
}

export type Decision =
  | { readonly kind: "grant"; readonly covers: ReadonlyMap<Key, Grant>; readonly ends: readonly Ending[] }
  | { readonly kind: "wait"; readonly holders: readonly Grant[]; readonly behind: Ticket | null }
  | Refusal;

export type Refusal = {
  readonly kind: "refuse";
  readonly why: string;
  readonly holders: readonly Grant[];
} & ({ readonly code: Unreasoned } | { readonly code: "E_CONFIG"; readonly reason: ErrorReason<"E_CONFIG"> });

type Unreasoned = "E_LOCK_ORDER" | "E_INVALID_ARGUMENT";

export function decide(near: Neighbourhood, request: Request, circumstances: Circumstances): Decision {
  const own = near.grants.filter((grant) => request.presented.has(grant.tokenHash));
  const refusal = refuseConversion(own, request) ?? refuseOrder(request, circumstances.order);
  if (refusal !== null) return refusal;

  const nested = coversOf(request, own);
  const fresh = request.wants.filter((want) => !nested.has(want.resource));
  const obstacles = findObstacles(near, fresh, request, circumstances);
  if (obstacles.refusal !== null) return obstacles.refusal;
  const isBlocked = obstacles.nodes.length > 0;
  const { now, order, witness } = circumstances;
  const seen = { now, order, witness: isBlocked ? TRUSTING : witness };
  // The line is read for it, and whoever waits for a holder is told of that one.
  const behind =
    request.holds.length > 0 || obstacles.holders.length > 0 ? null : firstAhead(near.line, fresh, request, seen);
  if (isBlocked) return blockedByHolders(obstacles, behind, request, order);
  if (behind !== null) return { kind: "wait", holders: [], behind };
  return { kind: "grant", covers: nested, ends: obstacles.ends };
}

/** A reader that asks for more could wait for another reader that does the same: neither would ever go on. */
function refuseConversion(own: readonly Grant[], request: Request): Decision | null {
  if (request.upgradeOf !== null) return null;
  for (const want of request.wants) {
    if (want.mode === "read" || coverOf(want, own) !== undefined) continue;
    const read = own.find((grant) => grant.mode === "read" && isWithin(want.resource, grant.resource));
    if (read !== undefined)
      return refuse(
        "E_INVALID_ARGUMENT",
        `mode: ${want.mode} on ${want.resource} lies below your own read of ${read.resource}; a reader cannot upgrade, take it as upgradeable from the start`,
      );
    const same = own.find((grant) => grant.resource === want.resource && grant.permits === null);
    if (same !== undefined)
      return refuse(
        "E_INVALID_ARGUMENT",
        `mode: ${want.resource} is yours as ${same.mode}; use upgrade() to convert it`,
      );
  }
  return null;
}

function refuseOrder(request: Request, order: NodeOrder): Decision | null {
  if (!request.strictOrder || request.upgradeOf !== null) return null;
  for (const want of request.wants)
    for (const held of request.holds)
      if (order(want.resource, held) < 0)
        return refuse("E_LOCK_ORDER", `${want.resource} sorts before ${held}, which is already held`);
  return null;
}

function coversOf(request: Request, own: readonly Grant[]): Map<Key, Grant> {
  const nested = new Map<Key, Grant>();
  if (request.upgradeOf !== null) return nested;
  for (const want of request.wants) {
    const cover = coverOf(want, own);
    if (cover !== undefined) nested.set(want.resource, cover);
  }
  return nested;
}

function coverOf(want: Want, own: readonly Grant[]): Grant | undefined {
  return own.find((grant) => isWithin(want.resource, grant.resource) && (covers(grant, want) || isSame(grant, want)));
}

/** Asked for once more as it is held: only a permit is another place each time. */
function isSame(grant: Grant, want: Want): boolean {
  return (
    want.permits === null && grant.permits === null && grant.resource === want.resource && grant.mode === want.mode
  );
}

interface Obstacles {
  readonly holders: Grant[];
  readonly nodes: Key[];
  readonly ends: Ending[];
  readonly refusal: Decision | null;
}

/** Who holds something the wants conflict with, at which nodes, and who of them is to be ended instead. */
function findObstacles(
  near: Neighbourhood,
  wants: readonly Want[],
  request: Request,
  circumstances: Circumstances,
): Obstacles {
  const found: Obstacles = { holders: [], nodes: [], ends: [], refusal: null };
  const upgrading = near.grants.some(({ mode }) => mode === "upgradeable")
    ? upgradesInLine(near.line, circumstances.now)
    : NONE;
  for (const grant of near.grants) {
    if (request.presented.has(grant.tokenHash)) {
      const other = wants.find((want) => usageNode(grant, want) !== null);
      if (other !== undefined) return { ...found, refusal: refusePermits(other, grant) };
      continue;
    }
    const nodes = wants
      .map((want) => usageNode(grant, want) ?? conflictNode(seenBy(request, grant, upgrading), want))
      .filter((node) => node !== null);
    if (nodes.length === 0) continue;
    const refusal = weigh(grant, nodes, wants, found, circumstances);
    if (refusal !== null) return { ...found, refusal };
  }
  for (const want of wants) if (want.permits !== null) weighPermits(near.grants, want, found, circumstances);
  for (const record of near.unreadable) {
    const wall: Want = { resource: record.resource, mode: "write", permits: null };
    // mutant: unreadable-is-held: .nodes.push(record.resource); → .nodes.push(...[record.resource].slice(1));
    if (wants.some((want) => conflictNode(wall, want) !== null)) found.nodes.push(record.resource);
  }
  return found;
}

/** Puts a conflicting grant where it belongs: to be ended, in the way, or a reason to refuse. */
function weigh(
  grant: Grant,
  nodes: readonly Key[],
  wants: readonly Want[],
  found: Obstacles,
  { now, witness }: Circumstances,
): Decision | null {
  const recovery = recoverable(grant, now, witness);
  if (recovery !== null) {
    found.ends.push({ grant, recovery });
    return null;
  }
  if (isForeign(grant, now)) return refuseForeign(grant);
  const other = wants.find((want) => usageNode(grant, want) !== null);
  if (other !== undefined) return refusePermits(other, grant);
  found.holders.push(grant);
  found.nodes.push(...nodes);
  return null;
}

/** An upgrade in line lets nobody in at its node who is not there already: to those it counts as a writer. */
function seenBy(request: Request, grant: Grant, upgrading: ReadonlySet<string>): Want {
  // mutant: upgrade-holds-back: !upgrading.has(grant.lockId)) return grant; → upgrading.size >= 0) return grant;
  if (!upgrading.has(grant.lockId)) return grant;
  const isThere = request.holds.some((held) => isWithin(held, grant.resource));
  return isThere ? grant : { ...grant, mode: "write" };
}

const NONE: ReadonlySet<string> = new Set();

/** They stand at the head. */
function upgradesInLine(line: Line, now: Instant): ReadonlySet<string> {
  let ids: Set<string> | null = null;
  for (const ticket of line) {
    if (ticket.upgradeOf === null) break;
    if (ticketStands(ticket, now)) ids = (ids ?? new Set()).add(ticket.upgradeOf);
  }
  return ids ?? NONE;
}

/** A key is in use either as a plain lock or as a semaphore with one number of permits, never both ways at once. */
function usageNode(grant: Grant, want: Want): Key | null {
  return grant.resource === want.resource && grant.permits !== want.permits ? grant.resource : null;
}

/** When no place of the semaphore is left, takes those of recoverable holders; when there are none, it is full. */
function weighPermits(grants: readonly Grant[], want: Want, found: Obstacles, { now, witness }: Circumstances): void {
  const isEnding = (grant: Grant): boolean => found.ends.some((ending) => ending.grant === grant);
  const places = grants.filter(
    (grant) => grant.resource === want.resource && grant.permits === want.permits && !isEnding(grant),
  );
  if (places.length < (want.permits ?? 0)) return;
  const ends = places.flatMap((grant) => {
    const recovery = recoverable(grant, now, witness);
    return recovery === null ? [] : [{ grant, recovery }];
  });
  found.ends.push(...ends);
  if (ends.length > 0) return;
  found.holders.push(...places);
  found.nodes.push(want.resource);
}

function blockedByHolders(
  { holders, nodes }: Obstacles,
  behind: Ticket | null,
  request: Request,
  order: NodeOrder,
): Decision {
  const blocked = nodes.find((node) => !mayWaitAt(node, request, order));
  if (blocked === undefined) return { kind: "wait", holders, behind };
  const why = `waiting at ${blocked} while holding ${request.holds.join(", ")} could deadlock`;
  return { ...refuse("E_LOCK_ORDER", why), holders };
}

function mayWaitAt(node: Key, { holds, upgradeOf }: Request, order: NodeOrder): boolean {
  // mutant: order: holds.flatMap(nodesOf).every( → true || holds.flatMap(nodesOf).every(
  return holds.flatMap(nodesOf).every((own) => (upgradeOf === null ? order(node, own) > 0 : order(own, node) <= 0));
}

/** While a holder is in the way, whether those ahead in line still live changes nothing, and asking has its price. */
const TRUSTING: Witness = { life: () => "unknown", hasActiveJob: () => false };

/** The first ticket before this request that holds it back. Dead waiters are passed over. */
function firstAhead(
  line: Line,
  wants: readonly Want[],
  request: Request,
  { now, witness }: Circumstances,
): Ticket | null {
  const mine = request.ticket;
  const hasPlace = mine !== null && ticketStands(mine, now);
  for (const ticket of line) {
    if (ticket.ticketId === mine?.ticketId) continue;
    if (hasPlace && byNumber(ticket, mine) > 0) break;
    // mutant: line: if (ticketStands(ticket, now) && standsInTheWay(ticket, wants) && witness.life(ticket) !== "dead") return ticket → continue
    // mutant: dead-waiter: && witness.life(ticket) !== "dead") return ticket; → ) return ticket;
    if (ticketStands(ticket, now) && standsInTheWay(ticket, wants) && witness.life(ticket) !== "dead") return ticket;
  }
  return null;
}

function refuse(code: Unreasoned, why: string): Refusal {
  return { kind: "refuse", code, why, holders: [] };
}

function refuseForeign(grant: Grant): Decision {
  const why = `${grant.resource} is held from another machine (${grant.holderId}); this store is for one machine only`;
  return { kind: "refuse", code: "E_CONFIG", reason: "other_machine", why, holders: [] };
}

function refusePermits(want: Want, grant: Grant): Decision {
  const inUse = grant.permits === null ? "a plain lock" : `a semaphore with ${grant.permits} permits`;
  const asked = want.permits === null ? "as a plain lock" : `with ${want.permits} permits`;
  return refuse("E_INVALID_ARGUMENT", `permits: ${want.resource} is in use as ${inUse} and was asked for ${asked}`);
}
