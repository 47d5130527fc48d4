export {
  type Deliverable,
  type DeliverableOptions,
  type HoldOptions,
  type LockOptions,
  openDeliverable,
} from "./deliverable.js";
export type { DeliverableLock } from "./deliverable-lock.js";
export type { LogLine, RecoveryReason } from "./log.js";
export type { DeliverableRecord } from "./record.js";
export type { RecoveredLock } from "./stale.js";
export type { DeliverableStatus } from "./status.js";
