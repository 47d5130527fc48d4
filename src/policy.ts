/** `holdfast/policy`: decides which locks an operation needs, performs it under exactly those, and keeps approvals. */
export type { Approved, ApproveOptions } from "./features/policy/approvals.js";
export type { Deployment, Needed, Scope } from "./features/policy/decide.js";
export { type BeginOptions, type PerformOptions, Policies, type PolicyOptions } from "./features/policy/perform.js";
export type { LockPattern, Policy, Rule, Threshold } from "./features/policy/rule.js";
