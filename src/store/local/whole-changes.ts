/**
 * Gives the changes of every step the same shape. Operations return changes as objects with different fields, and the
 * code that applies them would meet all these shapes. With every field present, in one order, it meets one: the engine
 * then compiles that code once and keeps the result, also in a process that now holds a lock alone and now waits in its
 * queue.
 */
import type { Changes } from "../ledger.js";

export function wholeChanges(changes: Changes): Changes {
  return {
    adds: changes.adds,
    updates: changes.updates,
    drops: changes.drops,
    ticketAdds: changes.ticketAdds,
    ticketUpdates: changes.ticketUpdates,
    ticketDrops: changes.ticketDrops,
    audit: changes.audit,
    manifests: changes.manifests,
    manifestDrops: changes.manifestDrops,
    files: changes.files,
    clears: changes.clears,
    durable: changes.durable,
    heirs: changes.heirs,
    wake: changes.wake,
  };
}
