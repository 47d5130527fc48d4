/**
 * Returns whether an owner is a person. Only people may overrule others: breaking locks and approving is for them
 * (STALE-6, POL-4), not for agents, jobs and services.
 */
export function isPerson(owner: string): boolean {
  return owner.startsWith("user:") || owner.startsWith("admin:");
}
