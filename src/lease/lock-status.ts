/** The status of a key as people and scripts see it. */
import { type GrantRecord, toRecord } from "../lock/grant.js";
import { isExpired, ticketStands } from "../lock/profile.js";
import { profileOf } from "../lock/settings.js";
import { type Instant, isoTime } from "../lock/time.js";
import type { Inspection } from "../store/contract.js";

export interface LockStatus {
  readonly resource: string;
  readonly state: "free" | "held" | "expired";
  /** On the resource, above it and below it. */
  readonly grants: readonly GrantRecord[];
  readonly waiters: readonly WaiterRecord[];
  /** The last number given out in this tree. */
  readonly fencing_token: number;
  readonly profile: string;
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
    waiters: found.waiters
      .filter((ticket) => ticketStands(ticket, now))
      .map((ticket) => ({
        ticket_id: ticket.ticketId,
        number: ticket.number,
        owner: ticket.owner,
        holder_id: ticket.holderId,
        wants: ticket.wants.map(({ resource, mode }) => ({ resource, mode })),
        waiting_since: isoTime(ticket.enteredAt.wallMs),
      })),
    fencing_token: found.fencingToken,
    profile: profileOf(found.resource, found.settings),
  };
}
