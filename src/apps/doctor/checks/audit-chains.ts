/** Checks that every audit chain is as it was written. A broken chain is never repaired: a repair would hide its origin. */
import { type Check, type Diagnosis, storeOf } from "../check.js";

export const auditChains: Check = {
  name: "audit chains",
  async look(patient): Promise<readonly Diagnosis[]> {
    const store = storeOf(patient);
    if (store === null) return [];
    const { bad } = await store.reader.verifyAudit(null);
    return bad.map(({ tree, seq, why }) => ({
      code: "AUDIT_BROKEN" as const,
      message: `the audit chain of ${tree} is broken at entry ${seq}: ${why}`,
      next: ["Find out who wrote to the store's files; compare with a backup. Locks work on, the past is in doubt."],
    }));
  },
};
