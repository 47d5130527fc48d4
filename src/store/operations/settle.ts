/**
 * Settles an unfinished publish, in the step that grants and under its guard, so that the next holder finds it settled.
 * The state of the disk decides, see settle-on-disk.ts.
 *
 * The writer is live while its grant stands, its lease lasts, and its process is not proven dead. Nothing of a live writer
 * is touched. Any other has lost the right to go on, also where its profile does not let others end the grant yet, and
 * learns so at its next step, which finds the publish ended. A publish has up to two keys, perhaps in two trees; the step that settles it is in both.
 */
import type { AuditDraft } from "../../lock/audit.js";
import type { Key } from "../../lock/key.js";
import { type Manifest, nextTime } from "../../lock/manifest.js";
import { isGone, type Witness } from "../../lock/profile.js";
import type { Party } from "../contract.js";
import type { Changes, LedgerView } from "../ledger.js";
import { settleOnDisk } from "../publish/settle-on-disk.js";

const NOTHING: readonly Manifest[] = [];

export interface Settled {
  readonly manifest: Manifest;
  readonly entry: AuditDraft;
}

/** Adds to the changes of a step that grants these keys the settling of what is left on them. */
export function settleBefore(
  view: LedgerView,
  changes: Changes,
  keys: readonly Key[],
  party: Party,
  witness: Witness,
): { readonly changes: Changes; readonly settled: readonly Manifest[] } {
  if (keys.length === 0) return { changes, settled: NOTHING };
  const left = view.publishing(keys).filter((manifest) => !isLive(view, manifest, witness, changes));
  if (left.length === 0) return { changes, settled: NOTHING };
  const settled = left.map((manifest) => settle(view, manifest, party));
  return {
    changes: {
      ...changes,
      manifests: settled.map(({ manifest }) => manifest),
      audit: [...settled.map(({ entry }) => entry), ...(changes.audit ?? [])],
      durable: true,
    },
    settled: settled.map(({ manifest }) => manifest),
  };
}

/** Whether its writer may go on, also after the changes. */
export function isLive(
  view: LedgerView,
  { resource, lockId }: Manifest,
  witness: Witness,
  { drops = [] }: Changes = {},
): boolean {
  if (drops.some((grant) => grant.lockId === lockId)) return false;
  const grant = view.find(resource, lockId);
  // mutant: publish-live-writer: return grant !== null && → return grant === undefined &&
  // mutant: publish-gone-writer: && !isGone(grant, view.now, witness); → ;
  return grant !== null && !isGone(grant, view.now, witness);
}

/** `E_COMMIT_UNCERTAIN` when a rename that was made cannot be synced: it stays to be settled. */
export function settle(view: LedgerView, manifest: Manifest, party: Party): Settled {
  const { isMade, isCleared } = settleOnDisk(manifest);
  const ended: Manifest = isMade
    ? { ...manifest, state: "committed", committedAt: committedNow(view, manifest), isCleared }
    : { ...manifest, state: "aborted", isCleared };
  return { manifest: ended, entry: publishEntry(view, ended, party, { settled: true }) };
}

function committedNow(view: LedgerView, { target }: Manifest): number {
  // mutant: publish-order-settled: (target), view.now.wallMs) → (target).slice(0, 0), view.now.wallMs)
  return nextTime(view.manifestsOf(target), view.now.wallMs);
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
