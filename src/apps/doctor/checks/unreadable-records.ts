/**
 * Finds grants that cannot be read. They count as held for ever, so a person has to end them; but a process that still
 * lives may be the holder. Ending them is safe only when this store knows of no live process.
 */

import { join } from "node:path";
import type { UnreadableGrant } from "../../../lock/grant.js";
import { lifeOfAny } from "../../../platform/liveness/proof-of-life.js";
import { namesIn } from "../../../platform/look-up.js";
import { type Check, type Diagnosis, storeOf } from "../check.js";
import { treesOf } from "../store-walk.js";

export const unreadableRecords: Check = {
  name: "unreadable records",
  async look(patient): Promise<readonly Diagnosis[]> {
    const store = storeOf(patient);
    if (store === null) return [];
    const found = new Map<string, UnreadableGrant>();
    for await (const { unreadable } of treesOf(store))
      for (const each of unreadable) found.set(`${each.resource} ${each.isNewer ?? false}`, each);
    if (found.size === 0) return [];
    const living = store.proofs === null ? null : livingIn(store.proofs);
    return [...found.values()].map((each) => (each.isNewer ? newer(each) : broken(each, living)));
  },
};

function newer({ resource, why }: UnreadableGrant): Diagnosis {
  const message = `a grant on ${resource} is of a newer version: ${why}`;
  return { code: "RECORD_NEWER", message, next: ["Update holdfast, or let the newer one release it."] };
}

function broken({ resource, why }: UnreadableGrant, living: number | null): Diagnosis {
  const message = `a grant on ${resource} cannot be read: ${why}`;
  if (living === null)
    return {
      code: "RECORD_UNREADABLE",
      message: `${message}; whether its holder lives is not known`,
      next: ["Find out whose it is; then an administrator of the database deletes its row in holdfast.grants."],
    };
  // mutant: doctor-evicts: if (living > 0) → if (living < 0)
  if (living > 0)
    return {
      code: "RECORD_UNREADABLE",
      message: `${message}; ${living} processes that use this store are alive, and one may be its holder`,
      next: ["End the processes that use this store, then: holdfast doctor --repair"],
    };
  return {
    code: "RECORD_UNREADABLE",
    message,
    next: ["holdfast doctor --repair ends it, and says so in the audit trail."],
    async repair({ store, party }) {
      const count = await store.upkeep.clearUnreadable(resource, party);
      return `ended ${count} unreadable on ${resource}`;
    },
  };
}

/** How many processes prove to be alive here. */
function livingIn(proofs: string): number {
  return namesIn(proofs).filter((name) => lifeOfAny(join(proofs, name)) === "alive").length;
}
