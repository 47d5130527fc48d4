/**
 * Finds places in a queue whose waiter died or gave up. They block no other waiter: after two seconds they count for
 * nothing.
 */
import { ticketStands } from "../../../lock/profile.js";
import { type Check, type Diagnosis, storeOf } from "../check.js";
import { treesOf } from "../store-walk.js";

export const staleTickets: Check = {
  name: "stale tickets",
  async look(patient): Promise<readonly Diagnosis[]> {
    const store = storeOf(patient);
    if (store === null) return [];
    const now = patient.clock();
    const found: Diagnosis[] = [];
    for await (const { tree, waiters } of treesOf(store)) {
      const stale = waiters.filter((ticket) => !ticketStands(ticket, now)).length;
      if (stale === 0) continue;
      found.push({
        code: "TICKET_STALE",
        message: `${stale} places in the line of ${tree} are left that nobody stands in`,
        next: ["Nothing needs to be done: they hold nobody up, and go with the next step on the key."],
        repair: async ({ store: open }) => `removed ${await open.upkeep.dropStaleTickets(tree)} tickets of ${tree}`,
      });
    }
    return found;
  },
};
