/**
 * Finds grants whose holder is gone. The next requester of the key ends them; until then they stand in lists and
 * reports.
 */
import { recoverable } from "../../../lock/profile.js";
import { type Check, type Diagnosis, storeOf } from "../check.js";
import { treesOf } from "../store-walk.js";

export const leftGrants: Check = {
  name: "grants that were left",
  async look(patient): Promise<readonly Diagnosis[]> {
    const store = storeOf(patient);
    if (store === null) return [];
    const now = patient.clock();
    const found: Diagnosis[] = [];
    for await (const { grants } of treesOf(store))
      for (const grant of grants) {
        const why = recoverable(grant, now, { life: store.reader.life, hasActiveJob: () => false });
        if (why === null) continue;
        const { resource, owner, holderId } = grant;
        const because = why.reason === "process_dead" ? "its process is dead" : "its lease has expired";
        found.push({
          code: "GRANT_RECOVERABLE",
          message: `${resource} is held by ${owner} (${holderId}), but ${because}`,
          next: ["Nothing needs to be done: whoever wants it takes over. `holdfast doctor --repair` ends it now."],
          async repair({ store: open, party }) {
            const ended = await open.locks.end({ resource, party, how: "recovered", reason: null });
            return `recovered ${ended.length} on ${resource}`;
          },
        });
      }
    return found;
  },
};
