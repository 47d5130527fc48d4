/** Returns the state of a folder's lock, in the form that people and scripts see. */

import type { Content } from "../../client/deliverable/content.js";
import { lifeOf, mayRecover } from "../../client/deliverable/liveness.js";
import type { Places } from "../../client/deliverable/paths.js";
import type { DeliverableRecord } from "../../client/deliverable/record.js";
import { isExpired, type Life } from "../../lock/profile.js";
import { type Instant, remainingSeconds } from "../../lock/time.js";
import type { RecoveryReason } from "./log.js";

export interface DeliverableStatus {
  readonly deliverable_id: string;
  readonly folder: string;
  /** `dead`: its process is gone. `expired` and `dead` are free for the taking; `corrupt` needs `recover`. */
  readonly state: "free" | "held" | "expired" | "dead" | "corrupt";
  /** Why `recover` would end it now, or null. */
  readonly recoverable: RecoveryReason | null;
  readonly lock: DeliverableRecord | null;
  readonly lease_remaining_s: number;
  readonly life: Life;
  /** The lock came with a copy of the folder it was made in. */
  readonly copied: boolean;
}

export function statusOf(places: Places, deliverableId: string, content: Content, now: Instant): DeliverableStatus {
  const plain = { folder: places.folder, lock: null, lease_remaining_s: 0, life: "unknown", copied: false } as const;
  if (content.kind === "free") return { ...plain, deliverable_id: deliverableId, state: "free", recoverable: null };
  if (content.kind === "corrupt")
    return { ...plain, deliverable_id: deliverableId, state: "corrupt", recoverable: "corrupt" };
  const { record, grant, isCopy } = content.lock;
  const recovery = mayRecover(places, content.lock, now);
  const isDead = recovery?.reason === "process_dead";
  return {
    deliverable_id: record.deliverable_id,
    folder: places.folder,
    state: isDead ? "dead" : isExpired(grant, now) ? "expired" : "held",
    recoverable: recovery === null ? (isCopy ? "corrupt" : null) : isDead ? "pid_dead" : "lease_expired",
    lock: record,
    lease_remaining_s: remainingSeconds(grant.renewedAt, grant.leaseMs, now),
    life: isDead ? "dead" : lifeOf(places, grant),
    copied: isCopy,
  };
}
