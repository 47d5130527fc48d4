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
import { type Grant, seenAt, type Ticket } from "./grant.js";
import { type Instant, remainingMs } from "./time.js";

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
    const { bootId, bootMs } = seenAt(of);
    // mutant: just-seen: .bootMs - bootMs < JUST_SEEN_MS → .bootMs - bootMs < Number.POSITIVE_INFINITY
    return bootId === now.bootId && now.bootMs - bootMs < JUST_SEEN_MS;
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

/** A process-bound grant of this machine from before its restart. */
function endedByRestart(grant: Grant, now: Instant): boolean {
  return (
    grant.proof.kind !== "none" && grant.renewedAt.bootId !== now.bootId && grant.renewedAt.machineId === now.machineId
  );
}

/** A live grant of another machine: this store cannot judge it, and must not work beside it. */
export function isForeign(grant: Grant, now: Instant): boolean {
  return grant.renewedAt.bootId !== now.bootId && grant.renewedAt.machineId !== now.machineId;
}

/** Why the grant may be ended now, or null. */
export function recoverable(grant: Grant, now: Instant, witness: Witness): Recovery | null {
  const lateMs = -remainingMs(grant.renewedAt, grant.leaseMs, now);
  const expired = lateMs >= 0;
  const inherited = grant.proof.kind === "file" && grant.proof.inherited;
  const needsLife = grant.profile === "default" || grant.profile === "strict" || inherited;
  const life = endedByRestart(grant, now) ? "dead" : needsLife || expired ? witness.life(grant) : "unknown";
  // mutant: run-inherited-counts: if (inherited && life === "alive") return null; →
  if (inherited && life === "alive") return null;

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

function heartbeatIsOld(grant: Grant, now: Instant): boolean {
  return remainingMs(grant.renewedAt, grant.graceMs, now) <= 0;
}

/** False once a ticket's time is up, or it was not refreshed for `TICKET_LEASE_MS`. */
export function ticketStands(ticket: Ticket, now: Instant): boolean {
  return (
    ticket.refreshedAt.bootId === now.bootId &&
    // mutant: stopped-waiter: remainingMs(ticket.refreshedAt, TICKET_LEASE_MS, now) > 0 && →
    remainingMs(ticket.refreshedAt, TICKET_LEASE_MS, now) > 0 &&
    remainingMs(ticket.enteredAt, ticket.waitMs, now) > 0
  );
}
