/** Who may overrule others: breaking locks and approving is for people (STALE-6, POL-4), not for agents, jobs and services. */
export function isPerson(owner: string): boolean {
  return owner.startsWith("user:") || owner.startsWith("admin:");
}
