/** `holdfast/deliverable`: locks of folders, kept in the folders themselves, without a store. */

export type { DeliverableRecord } from "./client/deliverable/record.js";
export {
  type Deliverable,
  type DeliverableOptions,
  type HoldOptions,
  type LockOptions,
  openDeliverable,
} from "./features/deliverable/deliverable.js";
export type { DeliverableLock } from "./features/deliverable/deliverable-lock.js";
export type { LogLine, RecoveryReason } from "./features/deliverable/log.js";
export type { RecoveredLock } from "./features/deliverable/stale.js";
export type { DeliverableStatus } from "./features/deliverable/status.js";
