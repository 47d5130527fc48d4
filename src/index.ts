/** `holdfast`: opening a store, leases, locks, the audit trail, errors and the types of all of them. */
export type { Duration } from "./base/duration.js";
export {
  ERRORS,
  type ErrorCode,
  type ErrorFacts,
  type ErrorReason,
  HoldfastError,
  isHoldfastError,
} from "./base/errors.js";
export type { Holdfast, ListOptions, WaitsOptions } from "./client/holdfast.js";
export type { BorrowedLease } from "./client/lease/borrowed-lease.js";
export type { DetachedLease } from "./client/lease/detached-lease.js";
export type { Lease, LeaseState } from "./client/lease/lease.js";
export type { TransactionOptions } from "./client/lease/transaction.js";
export type { UpgradeOptions } from "./client/lease/upgrade.js";
export { type Window, withWindow } from "./client/lease/window.js";
export { type HoldfastOptions, migrateStore } from "./client/open-holdfast.js";
export type { AcquireOptions } from "./client/options.js";
export { pathKey } from "./client/path-key.js";
export type { AuditListOptions, AuditTrail, FollowOptions } from "./client/reading/audit-trail.js";
export type { CircleMember, WaitCircle } from "./client/reading/circles.js";
export type { ExplainedHolder, ExplainedWaiter, Explanation, Waits, WaitsFor } from "./client/reading/explain.js";
export type { LockStatus, WaiterRecord } from "./client/reading/lock-status.js";
export { type RetryOptions, retry } from "./client/retry.js";
export { openHoldfast } from "./features/configuration.js";
export type { AuditEntry, AuditEvent, AuditFilter } from "./lock/audit.js";
export type { Contention, ContentionHolder } from "./lock/contention.js";
export type { GrantRecord, Metadata, Profile } from "./lock/grant.js";
export { MODES, type Mode } from "./lock/mode.js";
export type { AuditVerdict, BadEntry, Sql, SqlRow } from "./store/contract.js";
