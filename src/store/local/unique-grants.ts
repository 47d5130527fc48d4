/** Removes repeated references from a list of grants. */
import type { GrantRef } from "../contract.js";

/** Whoever names a grant twice means it once. */
export function once(refs: readonly GrantRef[]): readonly GrantRef[] {
  return refs.length < 2 ? refs : [...new Map(refs.map((ref) => [ref.lockId, ref])).values()];
}
