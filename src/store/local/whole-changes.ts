/**
 * Steps ask for what they change in objects of many kinds, and whoever carries the changes out would meet them all. With
 * every field there, in one order, it meets one: the engine then compiles it once and keeps what it has compiled, also in a
 * process that is now alone with a lock and now in a line for it.
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
