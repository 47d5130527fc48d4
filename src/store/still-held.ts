/** Refuses to remove a store in which a lease has not expired. */

import { HoldfastError } from "../base/errors.js";
import type { Grant } from "../lock/grant.js";
import { isExpired } from "../lock/profile.js";
import type { Instant } from "../lock/time.js";

const SHOWN = 3;

/** `E_LOCK_CONFLICT` while a lease among these has not run out. */
export function assertNothingHeld(grants: readonly Grant[], now: Instant, url: string): void {
  const held = grants.filter((grant) => !isExpired(grant, now));
  if (held.length === 0) return;
  const some = held.slice(0, SHOWN).map((grant) => `${grant.resource} by ${grant.owner}`);
  const more = held.length > SHOWN ? ` and ${held.length - SHOWN} more` : "";
  throw new HoldfastError("E_LOCK_CONFLICT", `${url} is in use: held are ${some.join(", ")}${more}`, {
    details: { resources: held.map((grant) => grant.resource) },
    next: ["holdfast lock list"],
  });
}
