/** `holdfast/policy`: which locks an operation needs, and doing it under exactly those. */
export type { Approved, ApproveOptions } from "./features/policy/approvals.js";
export type { Deployment, Needed, Scope } from "./features/policy/decide.js";
export { type BeginOptions, type PerformOptions, Policies, type PolicyOptions } from "./features/policy/perform.js";
export type { LockPattern, Policy, Rule, Threshold } from "./features/policy/rule.js";
