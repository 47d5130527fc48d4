// Holdfast as its users get it: the built package, its public API, its default settings.
import { openHoldfast } from "../../dist/index.js";

export async function openHoldfastOn(store, options = {}) {
  const holdfast = await openHoldfast({ store, owner: "service:bench", wait: "60s", ...options });
  return {
    take: (keys) => holdfast.acquire(keys),
    waiting: async (key) => (await holdfast.inspect(key)).waiters.length,
    close: () => holdfast.close(),
  };
}

/** For holding a hundred thousand locks: a heart that renewed them all would be a benchmark of its own. */
export const HEART_AT_REST = { ttl: "24h", heart: "loop", heartbeat: "168h" };
