/** Decides whether the process behind a lock still lives, and so whether the lock is recoverable. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { removeQuietly } from "../../files/durable-file.js";
import type { Grant } from "../../lock/grant.js";
import { type Life, type Recovery, recoverable, type Witness } from "../../lock/profile.js";
import type { Instant } from "../../lock/time.js";
import { lifeBehind } from "../../platform/liveness/liveness.js";
import { lifeOfAny, lifeOfFile, probeLife } from "../../platform/liveness/proof-of-life.js";
import { namesIn } from "../../platform/look-up.js";
import { thisMachine } from "../../platform/machine.js";
import type { Places } from "./paths.js";
import type { FoundLock } from "./record.js";

/** "unknown" wherever there is no proof: another machine, a copied folder, a missing file. */
export function lifeOf({ alive }: Places, grant: Grant): Life {
  return lifeBehind(grant, grant.renewedAt, thisMachine(), (nonce, { file }) => probeLife(alive, nonce, file));
}

/** Why the lock may be ended without its holder, or null. The rules are those of the profile `default`. */
export function mayRecover(places: Places, { grant }: FoundLock, now: Instant): Recovery | null {
  const witness: Witness = { life: () => lifeOf(places, grant), hasActiveJob: () => false };
  return recoverable(grant, now, witness);
}

/**
 * What the processes say of themselves that still prove to be alive here. When the lock cannot be read, one of them may
 * be its holder.
 */
export function provenAlive({ alive }: Places): readonly string[] {
  return namesIn(alive).flatMap((name) => {
    const path = join(alive, name);
    return lifeOfAny(path) === "alive" ? [aboutIn(path)] : [];
  });
}

/** Proofs are made under the guard, so one that is not of the current lock and of nobody alive is what a crash left. */
export function removeOldProofs({ alive }: Places, current: string | null): void {
  for (const name of namesIn(alive)) {
    const path = join(alive, name);
    if (name !== current && lifeOfFile(path) === "dead") removeQuietly(path);
  }
}

function aboutIn(path: string): string {
  try {
    return String((JSON.parse(readFileSync(path, "utf8")) as { holder_id?: unknown }).holder_id);
  } catch {
    return path;
  }
}
