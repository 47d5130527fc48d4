/** Returns the status of a key, in the form that people and scripts see. */
import { type Grant, type GrantRecord, type Ticket, toRecord } from "../../lock/grant.js";
import { isExpired, ticketStands } from "../../lock/profile.js";
import { profileOf } from "../../lock/settings.js";
import { type Instant, isoTime, remainingMs, remainingSeconds } from "../../lock/time.js";
import type { Inspection } from "../../store/contract.js";

export interface LockStatus {
  readonly resource: string;
  readonly state: "free" | "held" | "expired";
  /** On the resource, above it and below it. */
  readonly grants: readonly GrantRecord[];
  readonly waiters: readonly WaiterRecord[];
  /** The last number given out in this tree. */
  readonly fencing_token: number;
  readonly profile: string;
  /** Null unless the key is in use as a semaphore. */
  readonly permits: PermitCount | null;
}

interface PermitCount {
  readonly total: number;
  /** By leases that are not over. */
  readonly taken: number;
}

export interface WaiterRecord {
  readonly ticket_id: string;
  readonly number: number;
  readonly owner: string;
  readonly holder_id: string;
  readonly wants: readonly { readonly resource: string; readonly mode: string }[];
  readonly waiting_since: string;
}

export function toStatus(found: Inspection, now: Instant): LockStatus {
  const isHeld = found.unreadable.length > 0 || found.grants.some((grant) => !isExpired(grant, now));
  return {
    resource: found.resource,
    state: isHeld ? "held" : found.grants.length > 0 ? "expired" : "free",
    grants: found.grants.map(toRecord),
    waiters: found.waiters.filter((ticket) => ticketStands(ticket, now)).map(toWaiter),
    fencing_token: found.fencingToken,
    profile: profileOf(found.resource, found.settings),
    permits: permitsOf(found, now),
  };
}

function permitsOf({ resource, grants }: Inspection, now: Instant): PermitCount | null {
  const places = grants.filter((grant) => grant.resource === resource && grant.permits !== null);
  const total = places[0]?.permits ?? null;
  return total === null ? null : { total, taken: places.filter((grant) => !isExpired(grant, now)).length };
}

/** A grant as it is now. */
export type HeldRecord = GrantRecord & { readonly state: "held" | "expired" };

/** Clocks that differ by less are not told apart from what was allowed for them. */
const SAME_CLOCK_MS = 5_000;

/** Its end is told by the clock of this moment, also when that was set since, or is not the server's. */
export function toHeld(grant: Grant, now: Instant): HeldRecord {
  const endMs = now.wallMs + remainingMs(grant.renewedAt, grant.leaseMs, now);
  const isSameClock = Math.abs(endMs - (grant.renewedAt.wallMs + grant.leaseMs)) < SAME_CLOCK_MS;
  return {
    ...toRecord(grant),
    ...(isSameClock ? {} : { lease_expires_at: isoTime(endMs) }),
    state: isExpired(grant, now) ? "expired" : "held",
  };
}

/** A grant, and how long it lasts still. By durations alone: its times of day may be those of another clock. */
export type LastingRecord = GrantRecord & { readonly lease_remaining_s: number };

export function toLasting(grant: Grant, now: Instant): LastingRecord {
  return { ...toRecord(grant), lease_remaining_s: remainingSeconds(grant.renewedAt, grant.leaseMs, now) };
}

export function toWaiter(ticket: Ticket): WaiterRecord {
  return {
    ticket_id: ticket.ticketId,
    number: ticket.number,
    owner: ticket.owner,
    holder_id: ticket.holderId,
    wants: ticket.wants.map(({ resource, mode }) => ({ resource, mode })),
    waiting_since: isoTime(ticket.enteredAt.wallMs),
  };
}
