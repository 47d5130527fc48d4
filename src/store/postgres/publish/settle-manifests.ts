/**
 * Settles unfinished publishes on a server: the target is held there while this process looks at the disk, and the
 * finding goes on record.
 */

import { isHere, underTargetGuard } from "../../../files/target-mark.js";
import type { Manifest } from "../../../lock/manifest.js";
import type { Party } from "../../contract.js";
import { settleOnDisk } from "../../publish/settle-on-disk.js";
import { type Call, call } from "../connection/call.js";
import type { Connection, Session } from "../connection/connection.js";
import { tryAgain } from "../connection/try-again.js";
import { partyOf } from "../locks/locks.js";
import { readManifest, type ToldManifest } from "./manifest-records.js";

/** A client that falls silent for longer than this, between look and record, is cut off by the server. */
export const STEP_MS = 10_000;
export const GUARD_MS = 4_000;

/** Who goes on record. */
export type Asker = Pick<Party, "owner" | "holderId">;

/**
 * What became of it; null when there is none. One that has ended, one of a live writer unless it is the caller's own
 * (`mine`), and one of a place that this process does not see stay as they are. Begun anew when the connection breaks.
 */
export function settleManifest(
  connection: Connection,
  store: string,
  which: { readonly id: string; readonly mine: boolean; readonly party: Asker },
  forMs?: number,
): Promise<Manifest | null> {
  return tryAgain(() => connection.transaction((session) => settleIn(session, store, which)), forMs);
}

async function settleIn(
  session: Session,
  store: string,
  { id, mine, party }: { readonly id: string; readonly mine: boolean; readonly party: Asker },
): Promise<Manifest | null> {
  await session.query("BEGIN ISOLATION LEVEL READ COMMITTED");
  const held = await askIn<ToldManifest | null>(session, call("manifest_hold", { id, max_ms: STEP_MS, store }));
  let manifest = held === null ? null : readManifest(held);
  // mutant: publish-elsewhere: .live) && isHere(manifest) → .live) && isHere({ target: manifest.target })
  if (held?.state === "pending" && manifest !== null && (mine || !held.live) && isHere(manifest)) {
    const { isMade, isCleared } = await onDisk(manifest);
    const found = { id, made: isMade, is_cleared: isCleared, mine, ...partyOf(party), store };
    const ended = await askIn<ToldManifest | null>(session, call("manifest_settle", found));
    manifest = ended === null ? null : readManifest(ended);
  }
  await session.query("COMMIT");
  return manifest;
}

function onDisk(manifest: Manifest) {
  // mutant: publish-late-stage: takesStage: true → takesStage: false
  return underTargetGuard(manifest.target, () => settleOnDisk(manifest, { takesStage: true }), GUARD_MS);
}

/** The answer of a function inside a transaction. */
export async function askIn<T>({ query }: Session, { text, values }: Call): Promise<T> {
  const [row] = await query(text, values);
  return Object.values(row ?? {})[0] as T;
}
