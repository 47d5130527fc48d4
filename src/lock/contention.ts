/**
 * Makes the contention report that every refusal carries: the holders in the way, how long they still hold, and when to
 * come back.
 */
import type { Grant, Ticket } from "./grant.js";
import type { Key } from "./key.js";
import { DELIVERABLE } from "./reserved-kinds.js";
import { type Instant, isoTime, remainingMs, remainingSeconds } from "./time.js";

export interface ContentionHolder {
  readonly resource: string;
  readonly mode: string;
  readonly owner: string;
  readonly holder_id: string;
  readonly lock_id: string;
  readonly fencing_token: number;
  readonly since: string;
  readonly lease_remaining_s: number;
}

export interface Contention {
  readonly type: "LOCK_CONTENTION";
  readonly resource: string;
  readonly deliverable_id?: string;
  readonly holder: string | null;
  readonly owner: string | null;
  readonly mode: string | null;
  readonly lease_remaining_s: number;
  readonly contention_time: string;
  readonly queue_length: number;
  readonly retry_after_ms: number;
  readonly holders: readonly ContentionHolder[];
}

const RETRY_AT_LEAST_MS = 50;
const RETRY_AT_MOST_MS = 5_000;

export function contentionReport(
  resource: Key,
  holders: readonly Grant[],
  waiting: readonly Ticket[],
  now: Instant,
): Contention {
  const first = holders[0] ?? null;
  const soonestMs = Math.min(...holders.map((grant) => remainingMs(grant.renewedAt, grant.leaseMs, now)));
  return {
    type: "LOCK_CONTENTION",
    resource,
    ...(resource.startsWith(DELIVERABLE) ? { deliverable_id: resource.slice(DELIVERABLE.length) } : {}),
    holder: first?.holderId ?? null,
    owner: first?.owner ?? waiting[0]?.owner ?? null,
    mode: first?.mode ?? null,
    lease_remaining_s: first === null ? 0 : remainingSeconds(first.renewedAt, first.leaseMs, now),
    contention_time: isoTime(now.wallMs),
    queue_length: waiting.length,
    retry_after_ms: Math.round(Math.min(RETRY_AT_MOST_MS, Math.max(RETRY_AT_LEAST_MS, soonestMs))),
    holders: holders.map((grant) => ({
      resource: grant.resource,
      mode: grant.mode,
      owner: grant.owner,
      holder_id: grant.holderId,
      lock_id: grant.lockId,
      fencing_token: grant.fencingToken,
      since: isoTime(grant.createdAt),
      lease_remaining_s: remainingSeconds(grant.renewedAt, grant.leaseMs, now),
    })),
  };
}
