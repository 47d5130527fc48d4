/** Why a key is as it is: who holds what around it, who stands in line, and who of them waits for whom. */
import { type Grant, type Ticket, toRecord } from "../lock/grant.js";
import { isWithin, type Key } from "../lock/key.js";
import { byNumber, standsInTheWay } from "../lock/line.js";
import { conflictNode } from "../lock/marks.js";
import { isExpired, ticketStands } from "../lock/profile.js";
import { type Instant, remainingSeconds } from "../lock/time.js";
import type { LeaseHome } from "./lease-home.js";
import { type LockStatus, toStatus, type WaiterRecord } from "./lock-status.js";

/** A holder, seen from the key that was asked for. */
export type ExplainedHolder = LockStatus["grants"][number] & {
  /** Where it holds: the key itself, an ancestor, or something below. */
  readonly relation: "here" | "above" | "below";
  readonly state: "held" | "expired";
  readonly lease_remaining_s: number;
};

/** Somebody a waiter waits for: a grant by its `lock_id`, or a place ahead in line by its `ticket_id`. */
export interface WaitsFor {
  readonly kind: "holder" | "waiter";
  readonly id: string;
  readonly owner: string;
  readonly resource: string;
}

export type ExplainedWaiter = WaiterRecord & {
  readonly position: number;
  readonly waits_for: readonly WaitsFor[];
};

export interface Explanation {
  readonly status: LockStatus;
  readonly holders: readonly ExplainedHolder[];
  readonly line: readonly ExplainedWaiter[];
}

export async function explain({ store, clock }: LeaseHome, resource: Key): Promise<Explanation> {
  const found = await store.reader.inspect(resource);
  const now = clock();
  const status = toStatus(found, now);
  const standing = found.waiters.filter((ticket) => ticketStands(ticket, now)).sort(byNumber);
  const nearby = await grantsAround(store.reader, found.grants, standing, resource);
  return {
    status,
    holders: found.grants.map((grant) => holderOf(grant, resource, now)),
    line: standing.flatMap((ticket, at) => {
      const record = status.waiters.find((waiter) => waiter.ticket_id === ticket.ticketId);
      if (record === undefined) return [];
      return [{ ...record, position: at + 1, waits_for: reasonsOf(ticket, nearby, standing.slice(0, at)) }];
    }),
  };
}

/** A waiter may want more keys than this one, and be held up there. */
async function grantsAround(
  reader: LeaseHome["store"]["reader"],
  known: readonly Grant[],
  tickets: readonly Ticket[],
  resource: Key,
): Promise<readonly Grant[]> {
  const elsewhere = new Set(tickets.flatMap((ticket) => ticket.wants.map((want) => want.resource)));
  elsewhere.delete(resource);
  const all = new Map(known.map((grant) => [grant.lockId, grant]));
  for (const key of elsewhere) for (const grant of (await reader.inspect(key)).grants) all.set(grant.lockId, grant);
  return [...all.values()];
}

function holderOf(grant: Grant, resource: Key, now: Instant): ExplainedHolder {
  return {
    ...toRecord(grant),
    relation: grant.resource === resource ? "here" : isWithin(resource, grant.resource) ? "above" : "below",
    state: isExpired(grant, now) ? "expired" : "held",
    lease_remaining_s: remainingSeconds(grant.renewedAt, grant.leaseMs, now),
  };
}

function reasonsOf(ticket: Ticket, grants: readonly Grant[], ahead: readonly Ticket[]): WaitsFor[] {
  const holders = grants.filter(
    (grant) => grant.lockId !== ticket.upgradeOf && ticket.wants.some((want) => inTheWay(grant, want)),
  );
  const waiters = ahead.filter((other) => standsInTheWay(other, ticket.wants));
  return [
    ...holders.map(({ lockId, owner, resource }): WaitsFor => ({ kind: "holder", id: lockId, owner, resource })),
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
