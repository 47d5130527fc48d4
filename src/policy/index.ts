/** `holdfast/policy`: which locks an operation needs, and doing it under exactly those. */
export type { Approved, ApproveOptions } from "./approvals.js";
export type { Deployment, Needed, Scope } from "./decide.js";
export { type BeginOptions, type PerformOptions, Policies, type PolicyOptions } from "./perform.js";
export type { LockPattern, Policy, Rule, Threshold } from "./rule.js";
