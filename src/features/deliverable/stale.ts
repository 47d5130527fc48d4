/** A lock that may be ended without its holder, and the fields by which the log and the caller learn of it. */

import type { DeliverableRecord, FoundLock } from "../../client/deliverable/record.js";
import type { Recovery } from "../../lock/profile.js";
import type { LogLine, RecoveryReason } from "./log.js";

export interface Stale {
  readonly reason: RecoveryReason;
  /** Null when it could not be read. */
  readonly lock: FoundLock | null;
  readonly evidence: Readonly<Record<string, unknown>>;
}

export interface RecoveredLock {
  readonly recovery_reason: RecoveryReason;
  /** Null when it could not be read. */
  readonly previous: DeliverableRecord | null;
  readonly fencing_token: number;
}

export function staleBecause(lock: FoundLock, { reason, evidence }: Recovery): Stale & { readonly lock: FoundLock } {
  const copied = lock.isCopy ? { copied: true } : {};
  return {
    reason: reason === "process_dead" ? "pid_dead" : "lease_expired",
    lock,
    evidence: { ...evidence, ...copied },
  };
}

/** What a line tells of the lock that was there before. */
export function previousOf(
  record: DeliverableRecord,
): Pick<LogLine, "previous_holder" | "previous_acquired" | "previous_fencing_token"> {
  return {
    previous_holder: record.holder,
    previous_acquired: record.acquired,
    previous_fencing_token: record.fencing_token,
  };
}

export function toldOf({ reason, lock }: Stale, fence: number): RecoveredLock {
  return { recovery_reason: reason, previous: lock?.record ?? null, fencing_token: fence };
}
