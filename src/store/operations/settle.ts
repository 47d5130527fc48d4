/**
 * What becomes of a publish that nobody finished. The state of the disk decides, never a guess: the staged folder is
 * known by its identity, so either it stands at the target, then the rename was made under the guard and is rolled
 * forward, or it does not, then nothing was visible and it is undone. A pending manifest without a seal never came as far
 * as a rename.
 *
 *   on the disk                          what is done                           a crash meanwhile leaves
 *   not sealed, or stage at `tmpPath`    aborted                                the same to do
 *   target absent, old tree aside        the old tree is put back, aborted      the same, or the line above
 *   stage at the target                  both parents synced, committed         the same to do
 *
 * This runs inside the step that grants, under the guard, so whoever gets the lock finds things settled. It is quick: two
 * looks, at most one rename and two syncs. What lies at `tmpPath` afterwards is removed later, outside the guard.
 *
 * The writer is live while its grant stands; nothing of a live writer is touched. One whose grant was ended has lost the
 * right to go on, and learns so at its next step.
 */
import { dirname } from "node:path";
import type { AuditDraft } from "../../lock/audit.js";
import type { Key } from "../../lock/key.js";
import type { Manifest } from "../../lock/manifest.js";
import { syncFolder } from "../../support/durable-file.js";
import { HoldfastError, ioError } from "../../support/errors.js";
import { leftoversOf, lookAt, placeAt, putBack } from "../../support/exchange.js";
import type { Party } from "../contract.js";
import type { Changes, LedgerView, Outcome } from "../ledger.js";

export interface Settled {
  readonly manifest: Manifest;
  readonly entry: AuditDraft;
}

/** Adds to a step that grants these keys the settling of what is left on them. */
export function settleBefore<T>(
  view: LedgerView,
  outcome: Outcome<T>,
  keys: readonly Key[],
  party: Party,
): Outcome<T> & { readonly settled: readonly Manifest[] } {
  const { changes } = outcome;
  if (changes === null || keys.length === 0) return { ...outcome, settled: [] };
  const left = view.publishing(keys).filter((manifest) => !isLive(view, manifest, changes));
  if (left.length === 0) return { ...outcome, settled: [] };
  const settled = left.map((manifest) => settle(view, manifest, party));
  return {
    result: outcome.result,
    settled: settled.map(({ manifest }) => manifest),
    changes: {
      ...changes,
      manifests: settled.map(({ manifest }) => manifest),
      audit: [...settled.map(({ entry }) => entry), ...(changes.audit ?? [])],
      durable: true,
    },
  };
}

/** Whether its writer's grant stands, also after the changes. */
export function isLive(view: LedgerView, { resource, lockId }: Manifest, changes: Changes = {}): boolean {
  if (changes.drops?.some((grant) => grant.lockId === lockId)) return false;
  return view.find(resource, lockId) !== null;
}

/** Whether the rename was made, though the manifest does not say so. */
export function isMade({ sealed, tmpPath, target }: Manifest): boolean {
  try {
    return sealed !== null && lookAt(tmpPath, target, sealed) === "made";
  } catch (error) {
    throw ioError(error, "look at", target);
  }
}

/** `E_COMMIT_UNCERTAIN` when a rename that was made cannot be synced: it stays to be settled. */
export function settle(view: LedgerView, manifest: Manifest, party: Party): Settled {
  const { tmpPath, target } = manifest;
  const made = isMade(manifest);
  if (made) syncParents(manifest);
  else
    try {
      putBack(tmpPath, target);
    } catch (error) {
      throw ioError(error, "put back", target);
    }
  const isCleared = leftoversOf(tmpPath).every((path) => placeAt(path) === "absent");
  const ended: Manifest = made
    ? { ...manifest, state: "committed", committedAt: view.now.wallMs, isCleared }
    : { ...manifest, state: "aborted", isCleared };
  return { manifest: ended, entry: publishEntry(view, ended, party, { settled: true }) };
}

function syncParents({ tmpPath, target }: Manifest): void {
  try {
    if (placeAt(dirname(tmpPath)) === "folder") syncFolder(dirname(tmpPath));
    syncFolder(dirname(target));
  } catch (cause) {
    throw new HoldfastError("E_COMMIT_UNCERTAIN", `${target} was published, but cannot be synced to the disk`, {
      cause,
      details: { path: target },
    });
  }
}

/** The entry for the end of a publish. */
export function publishEntry(
  view: LedgerView,
  { id, state, resource, target, op, fencingToken, lockId, fileCount, byteCount }: Manifest,
  party: Party,
  more: Readonly<Record<string, unknown>> = {},
): AuditDraft {
  return {
    at: view.now.wallMs,
    event: state === "committed" ? "published" : "publish_undone",
    resource,
    owner: party.owner,
    holderId: party.holderId,
    fencingToken,
    lockId,
    details: { manifest: id, op, target, files: fileCount, bytes: byteCount, ...more },
  };
}
