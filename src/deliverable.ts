/** `holdfast/deliverable`: locks of folders, kept in the folders themselves, and in the store of the workspace around. */

export type { DeliverableRecord } from "./client/deliverable/record.js";

import { openWorkspaceAround } from "./features/configuration.js";
import { type Deliverable, type DeliverableOptions, openDeliverableWith } from "./features/deliverable/deliverable.js";

export type { Deliverable, DeliverableOptions, HoldOptions, LockOptions } from "./features/deliverable/deliverable.js";
export type { DeliverableLock } from "./features/deliverable/deliverable-lock.js";
export type { LogLine, RecoveryReason } from "./features/deliverable/log.js";
export type { RecoveredLock } from "./features/deliverable/stale.js";
export type { DeliverableStatus } from "./features/deliverable/status.js";

/** The lock of a folder, under one holder's name. Nothing is opened or written before it is used. */
export function openDeliverable(folder: string, options: DeliverableOptions = {}): Deliverable {
  return openDeliverableWith(folder, options, openWorkspaceAround);
}
