/** Explains the state of a key, or of a whole store: its holders, its queue, and which of them each waiter waits for. */
import type { Grant, Ticket } from "../../lock/grant.js";
import { ancestorsOf, isWithin, type Key, treeOf, treesOf } from "../../lock/key.js";
import { conflictNode } from "../../lock/marks.js";
import { ticketStands } from "../../lock/profile.js";
import { byNumber, standsInTheWay } from "../../lock/queue.js";
import { type Instant, remainingSeconds } from "../../lock/time.js";
import type { Clock } from "../../platform/clock.js";
import type { Reader } from "../../store/contract.js";
import type { LeaseHome } from "../lease/lease-context.js";
import { circlesFrom, circlesOf, type WaitCircle } from "./circles.js";
import { type HeldRecord, type LockStatus, toHeld, toStatus, toWaiter, type WaiterRecord } from "./lock-status.js";

/** A holder, seen from the key that was asked for. */
export type ExplainedHolder = HeldRecord & {
  /** Where it holds: the key itself, an ancestor, or something below. */
  readonly relation: "here" | "above" | "below";
  readonly lease_remaining_s: number;
};

/** Somebody a waiter waits for: a grant by its `lock_id`, or a place ahead in line by its `ticket_id`. */
export interface WaitsFor {
  readonly kind: "holder" | "waiter";
  readonly id: string;
  readonly owner: string;
  readonly resource: string;
  /** Present where it is the waiter's own: of the same Holdfast instance, or of the same owner elsewhere. */
  readonly own?: "instance" | "owner";
}

export type ExplainedWaiter = WaiterRecord & {
  readonly position: number;
  readonly waits_for: readonly WaitsFor[];
};

export interface Explanation {
  readonly status: LockStatus;
  readonly holders: readonly ExplainedHolder[];
  readonly line: readonly ExplainedWaiter[];
  /** The circles that a waiter in this queue leads to. Absent when there is none. */
  readonly circles?: readonly WaitCircle[];
}

/** Who waits for whom in a whole store. */
export interface Waits {
  /** The grants that somebody waits for. */
  readonly holders: readonly HeldRecord[];
  /**
   * Tree by tree, in each as they are served. One that wants keys of several trees is told in the first of them, and has
   * the `position` there. Of those ahead in line only the nearest are named.
   */
  readonly waiters: readonly ExplainedWaiter[];
  /** Absent when there is none. */
  readonly circles?: readonly WaitCircle[];
}

/** So many places a store tells at most. */
const MOST_PLACES = 50_000;
/** From so many wanted keys of one tree on, one look at all of it costs less than one at each. */
const MANY_KEYS = 32;
/** Looking at one key after the other ends after this, if one look at all that is held may do instead. */
const PATIENCE_MS = 100;
const MOST_HELD = 20_000;
/** Where everybody waits for all ahead, naming them would grow with the square of the line. */
const NAMED_AHEAD = 8;

export async function explain(home: LeaseHome, resource: Key): Promise<Explanation> {
  const { standing, ...found } = await explainNear(home, resource);
  return { ...found, ...named(await circlesFrom(home.store.reader, home.clock, standing)) };
}

/** Everything but the circles, from the grants and waiters around the key alone: its cost does not grow with other waiters. */
export async function explainNear(
  { store, clock }: LeaseHome,
  resource: Key,
): Promise<Omit<Explanation, "circles"> & { readonly standing: readonly Ticket[] }> {
  const found = await store.reader.inspect(resource);
  const now = clock();
  const standing = found.waiters.filter((ticket) => ticketStands(ticket, now)).sort(byNumber);
  const elsewhere = wantedBy(standing); // A waiter may want more keys than this one, and be held up there.
  elsewhere.delete(resource);
  const nearby = await grantsAround(store.reader, elsewhere, found.grants);
  return {
    status: toStatus(found, now),
    holders: found.grants.map((grant) => holderOf(grant, resource, now)),
    line: standing.map((ticket, at) => ({
      ...toWaiter(ticket),
      position: at + 1,
      waits_for: reasonsOf(ticket, nearby, standing.slice(0, at)),
    })),
    standing,
  };
}

function named(circles: readonly WaitCircle[]): { readonly circles?: readonly WaitCircle[] } {
  return circles.length === 0 ? {} : { circles };
}

export async function waits({ store, clock }: LeaseHome, limit: number): Promise<Waits> {
  const standing = await whoStands(store.reader, clock, limit);
  const grants = await grantsSeenFrom(store.reader, lookoutsOn(wantedBy(standing)));
  const now = clock();
  const held = byTree(grants, ({ resource }) => [treeOf(resource)]);
  const places = placesOf(standing);
  const nearOf = (ticket: Ticket): readonly Grant[] => treesOf(ticket.wants).flatMap((tree) => held.get(tree) ?? []);
  const waiters = standing.map((ticket) => {
    const own = places.get(ticket) ?? [];
    return {
      ...toWaiter(ticket),
      position: (own[0]?.at ?? 0) + 1,
      waits_for: reasonsOf(ticket, nearOf(ticket), nearestAhead(ticket, own)),
    };
  });
  const awaited = new Set(waiters.flatMap(({ waits_for }) => waits_for.map(({ id }) => id)));
  const holders = grants.filter(({ lockId }) => awaited.has(lockId));
  return { holders: holders.map((grant) => toHeld(grant, now)), waiters, ...named(circlesOf(standing, nearOf)) };
}

export async function inLine({ store, clock }: LeaseHome, limit: number): Promise<readonly WaiterRecord[]> {
  return (await whoStands(store.reader, clock, limit)).map(toWaiter);
}

/** Places in which nobody stands any more take nobody's room: then the store is asked for more. */
async function whoStands(reader: Reader, clock: Clock, limit: number): Promise<readonly Ticket[]> {
  for (let asked = limit; ; asked = Math.min(4 * asked, MOST_PLACES)) {
    const places = await reader.waiting(asked);
    const now = clock();
    // mutant: waits-of-the-gone: (ticket) => ticketStands(ticket, now)).slice → (ticket) => now && ticket).slice
    const standing = places.filter((ticket) => ticketStands(ticket, now)).slice(0, limit);
    // mutant: waits-hidden-by-the-gone: < asked || asked === MOST_PLACES) → <= asked || asked === MOST_PLACES)
    if (standing.length === limit || places.length < asked || asked === MOST_PLACES) return standing;
  }
}

function wantedBy(tickets: readonly Ticket[]): Set<Key> {
  return new Set(tickets.flatMap((ticket) => ticket.wants.map((want) => want.resource)));
}

/** Where to look for all that is held around these keys: at a key one sees what is above it and below it too. */
function lookoutsOn(wanted: ReadonlySet<Key>): Key[] {
  const highest = [...wanted].filter((key) => !ancestorsOf(key).some((node) => wanted.has(node)));
  const trees = byTree(highest, (key) => [treeOf(key)]);
  return [...trees].flatMap(([tree, keys]) => (keys.length < MANY_KEYS ? keys : [tree]));
}

/** A server is a way off: there many looks take longer than one at everything, which beside files they never do. */
async function grantsSeenFrom(reader: Reader, lookouts: readonly Key[]): Promise<readonly Grant[]> {
  const startedAt = performance.now();
  const seen = new Map<string, Grant>();
  let isLong = false;
  for (const [at, key] of lookouts.entries()) {
    await seeAround(reader, key, seen);
    if (isLong || performance.now() - startedAt < PATIENCE_MS || at + 1 > lookouts.length / 2) continue;
    const held = await reader.list({ prefix: null, after: null, limit: MOST_HELD });
    if (held.length < MOST_HELD) return held;
    isLong = true;
  }
  return [...seen.values()];
}

async function seeAround(reader: Reader, key: Key, seen: Map<string, Grant>): Promise<void> {
  for (const grant of (await reader.inspect(key)).grants) seen.set(grant.lockId, grant);
}

async function grantsAround(reader: Reader, keys: Iterable<Key>, known: readonly Grant[]): Promise<readonly Grant[]> {
  const all = new Map(known.map((grant) => [grant.lockId, grant]));
  for (const key of keys) await seeAround(reader, key, all);
  return [...all.values()];
}

/** In the order of trees. */
function byTree<T>(all: readonly T[], treesOfOne: (one: T) => readonly Key[]): Map<Key, T[]> {
  const found = new Map<Key, T[]>();
  for (const one of all)
    for (const tree of treesOfOne(one)) {
      const others = found.get(tree);
      if (others === undefined) found.set(tree, [one]);
      else others.push(one);
    }
  return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
}

interface Place {
  readonly line: readonly Ticket[];
  readonly at: number;
}

/** Of each ticket its places in the lines of its trees. */
function placesOf(tickets: readonly Ticket[]): Map<Ticket, Place[]> {
  const places = new Map<Ticket, Place[]>(tickets.map((ticket) => [ticket, []]));
  for (const line of byTree(tickets, ({ wants }) => treesOf(wants)).values())
    for (const [at, ticket] of line.sort(byNumber).entries()) places.get(ticket)?.push({ line, at });
  return places;
}

/** Those ahead of it that stand in its way, as many as are named. */
function nearestAhead(ticket: Ticket, places: readonly Place[]): Ticket[] {
  const found = new Set<Ticket>();
  for (const { line, at } of places) {
    let left = NAMED_AHEAD;
    for (let before = at - 1; before >= 0 && left > 0; before -= 1) {
      const other = line[before];
      if (other === undefined || !standsInTheWay(other, ticket.wants)) continue;
      found.add(other);
      left -= 1;
    }
  }
  return [...found].sort(byNumber).slice(-NAMED_AHEAD);
}

function holderOf(grant: Grant, resource: Key, now: Instant): ExplainedHolder {
  return {
    ...toHeld(grant, now),
    relation: grant.resource === resource ? "here" : isWithin(resource, grant.resource) ? "above" : "below",
    lease_remaining_s: remainingSeconds(grant.renewedAt, grant.leaseMs, now),
  };
}

function reasonsOf(ticket: Ticket, grants: readonly Grant[], ahead: readonly Ticket[]): WaitsFor[] {
  const holders = grants.filter(
    (grant) => grant.lockId !== ticket.upgradeOf && ticket.wants.some((want) => inTheWay(grant, want)),
  );
  const waiters = ahead.filter((other) => standsInTheWay(other, ticket.wants));
  return [
    ...holders.map(
      ({ lockId, owner, resource, nonce }): WaitsFor => ({
        kind: "holder",
        id: lockId,
        owner,
        resource,
        ...(nonce === ticket.nonce ? { own: "instance" } : owner === ticket.owner ? { own: "owner" } : {}),
      }),
    ),
    ...waiters.map(
      ({ ticketId, owner, wants }): WaitsFor => ({
        kind: "waiter",
        id: ticketId,
        owner,
        resource: wants.map((want) => want.resource).join(" "),
      }),
    ),
  ];
}

/** Whoever waits for a place of a semaphore waits for those who have one. */
function inTheWay(grant: Grant, want: Ticket["wants"][number]): boolean {
  const bothPermits = grant.permits !== null && want.permits !== null;
  return bothPermits ? grant.resource === want.resource : conflictNode(grant, want) !== null;
}
