/**
 * Profiles: the rule by which a grant may be ended without its holder. There are four, because one rule is not right
 * for all work:
 *
 *   default   the lease has expired, or the process is proven dead
 *   lease     the lease has expired
 *   dal       expired, and no heartbeat for the grace period, and no active job of the owner
 *   strict    the process is proven dead; never by time alone
 *
 * The profile and the durations are those in the grant, not the challenger's. Proof is never a guess: `unknown` (another
 * machine, a missing proof file) is not `dead`.
 */
import { isElsewhere, isOtherBoot, isSameBoot } from "../base/boot.js";
import { type Grant, seenAt, type Ticket } from "./grant.js";
import { elapsedMs, type Instant, remainingMs } from "./time.js";

export type Life = "alive" | "dead" | "unknown";

/** What the rules may ask of the outside world about a grant or ticket. */
export interface Witness {
  life(of: Grant | Ticket): Life;
  /** True while an unexpired job of this owner exists. */
  hasActiveJob(owner: string): boolean;
}

/** Whoever showed itself so recently is taken to live by those who will look again anyway. */
const JUST_SEEN_MS = 100;

/** Asks only about those who have not shown themselves just now: in a line that moves fast, asking is a good part of the work. */
export function patiently({ life, hasActiveJob }: Witness, now: Instant): Witness {
  const wasJustSeen = (of: Grant | Ticket): boolean => {
    const seen = seenAt(of);
    // mutant: just-seen: elapsedMs(seen, now) < JUST_SEEN_MS → elapsedMs(seen, now) < Number.POSITIVE_INFINITY
    return isSameBoot(seen, now) && elapsedMs(seen, now) < JUST_SEEN_MS;
  };
  return { life: (of) => (wasJustSeen(of) ? "alive" : life(of)), hasActiveJob };
}

type RecoveryReason = "lease_expired" | "process_dead";

export interface Recovery {
  readonly reason: RecoveryReason;
  readonly evidence: { readonly life: Life; readonly expired_for_ms: number };
}

/** How long a place in line outlives the last sign of its waiter. */
export const TICKET_LEASE_MS = 2_000;

export function isExpired(grant: Grant, now: Instant): boolean {
  return remainingMs(grant.renewedAt, grant.leaseMs, now) <= 0;
}

/** A live grant of another machine: this store cannot judge it, and must not work beside it. */
export function isForeign(grant: Grant, now: Instant): boolean {
  return isElsewhere(grant.renewedAt, now);
}

/** Why the grant may be ended now, or null. */
export function recoverable(grant: Grant, now: Instant, witness: Witness): Recovery | null {
  const lateMs = -remainingMs(grant.renewedAt, grant.leaseMs, now);
  const expired = lateMs >= 0;
  const inherited = grant.proof.kind === "file" && grant.proof.inherited;
  const needsLife = grant.profile === "default" || grant.profile === "strict" || inherited;
  const life = needsLife || expired ? witness.life(grant) : "unknown";
  // mutant: run-inherited-counts: if (life === "alive" && (inherited || isOfOtherClock(grant, now))) return null; → if (life === "alive" && isOfOtherClock(grant, now)) return null;
  // mutant: other-clock-and-alive: || isOfOtherClock(grant, now))) → || (isOfOtherClock(grant, now) && inherited)))
  if (life === "alive" && (inherited || isOfOtherClock(grant, now))) return null;

  const because = (reason: RecoveryReason): Recovery => ({
    reason,
    evidence: { life, expired_for_ms: Math.max(0, Math.round(lateMs)) },
  });
  switch (grant.profile) {
    case "default":
      // mutant: unknown-is-dead: === "dead" ? because("process_dead") → !== "alive" ? because("process_dead")
      return life === "dead" ? because("process_dead") : expired ? because("lease_expired") : null;
    case "lease":
      return expired ? because("lease_expired") : null;
    case "dal":
      return expired && heartbeatIsOld(grant, now) && !witness.hasActiveJob(grant.owner)
        ? because("lease_expired")
        : null;
    case "strict":
      return life === "dead" ? because("process_dead") : null;
  }
}

/**
 * Whether the holder can write nothing more under it, whether or not its profile lets others end it: its lease is over, or
 * its process is proven dead.
 */
export function isGone(grant: Grant, now: Instant, { life }: Pick<Witness, "life">): boolean {
  return isExpired(grant, now) || life(grant) === "dead";
}

/** Its lease is over by the wall clock at most, which may be wrong: a kernel lock that is still held says more. */
function isOfOtherClock({ proof, renewedAt }: Grant, now: Instant): boolean {
  return proof.kind === "file" && !isSameBoot(renewedAt, now);
}

function heartbeatIsOld(grant: Grant, now: Instant): boolean {
  return remainingMs(grant.renewedAt, grant.graceMs, now) <= 0;
}

/** False once a ticket's time is up, it was not refreshed for `TICKET_LEASE_MS`, or another boot has begun since. */
export function ticketStands(ticket: Ticket, now: Instant): boolean {
  return (
    !isOtherBoot(ticket.refreshedAt, now) &&
    // mutant: stopped-waiter: remainingMs(ticket.refreshedAt, TICKET_LEASE_MS, now) > 0 && →
    remainingMs(ticket.refreshedAt, TICKET_LEASE_MS, now) > 0 &&
    remainingMs(ticket.enteredAt, ticket.waitMs, now) > 0
  );
}
