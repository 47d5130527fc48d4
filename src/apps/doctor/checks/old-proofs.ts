/**
 * Finds proofs of life of dead processes that no grant and no ticket names. Dead and unnamed they prove nothing any
 * more: a process makes its proof once, before its first grant, and a dead one makes no more grants.
 */

import { join } from "node:path";
import { removeQuietly } from "../../../files/durable-file.js";
import { lifeOfAny } from "../../../platform/liveness/proof-of-life.js";
import { namesIn } from "../../../platform/look-up.js";
import { type Check, type Diagnosis, storeOf } from "../check.js";
import { treesOf } from "../store-walk.js";

export const oldProofs: Check = {
  name: "proofs of life",
  async look(patient): Promise<readonly Diagnosis[]> {
    const store = storeOf(patient);
    if (store === null || store.proofs === null) return [];
    const { proofs } = store;
    // Looked for first: whoever takes a lock meanwhile is alive.
    const dead = namesIn(proofs).filter((name) => lifeOfAny(join(proofs, name)) === "dead");
    if (dead.length === 0) return [];
    const named = new Set<string>();
    for await (const { grants, waiters, unreadable } of treesOf(store)) {
      if (unreadable.length > 0) return []; // It may name any of them.
      for (const each of [...grants, ...waiters]) named.add(each.nonce);
    }
    const orphans = dead.filter((name) => !named.has(name));
    if (orphans.length === 0) return [];
    return [
      {
        code: "PROOF_ORPHAN",
        message: `${orphans.length} proofs of life in ${proofs} are of dead processes that hold nothing`,
        next: ["Nothing needs to be done: they are swept after a day. `holdfast doctor --repair` removes them now."],
        async repair() {
          for (const name of orphans) removeQuietly(join(proofs, name));
          return `removed ${orphans.length} proofs of life`;
        },
      },
    ];
  },
};
