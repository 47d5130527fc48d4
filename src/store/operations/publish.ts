/** The steps of a publish that change its manifest, each under the guard and checked against lease and fence. */

import { HoldfastError } from "../../base/errors.js";
import { mayBeLeft } from "../../files/publish-leftovers.js";
import { isWithin, treeOf } from "../../lock/key.js";
import { lastCommitted, type Manifest, type ManifestFile, nextTime } from "../../lock/manifest.js";
import type { Witness } from "../../lock/profile.js";
import type { GrantRef, ManifestDraft, ManifestRef, Party, Seal } from "../contract.js";
import type { LedgerView, Outcome } from "../ledger.js";
import { isMade } from "../publish/settle-on-disk.js";
import { notHeld, requireWriter, requireWriters } from "./live-grant.js";
import { isLive, publishEntry, type Settled, settle } from "./settle.js";

/** Older manifests of a target that are kept, with their lists, when so many more have come together. */
const KEPT = 3;
const AT_A_TIME = 3;

export interface Begun {
  readonly manifest: Manifest;
  /** Ended ones of the same target of which something may still lie about. */
  readonly uncleared: readonly Manifest[];
}

/**
 * Settles what is left on the target, then puts the new manifest on record. The trees of its pending manifests are all in
 * the step. The new record need not outlive a power cut before it is sealed: nothing is visible until then.
 */
export function begin(
  view: LedgerView,
  ref: GrantRef,
  party: Party,
  draft: ManifestDraft,
  witness: Witness,
): Outcome<Begun> {
  const grant = requireWriter(view, ref);
  const known = view.manifestsOf(draft.target);
  const settled: Settled[] = [];
  const now = known.map((manifest) => {
    if (manifest.state !== "pending" || (isLive(view, manifest, witness) && !isMade(manifest))) return manifest;
    const ended = settle(view, manifest, party);
    settled.push(ended);
    return ended.manifest;
  });
  const recorded = now.find(({ state }) => state !== "aborted")?.targetKey ?? grant.resource;
  // mutant: publish-key: if (!isWithin(recorded, grant.resource)) → if (!isWithin(recorded, recorded))
  if (!isWithin(recorded, grant.resource))
    throw new HoldfastError("E_CONFIG", `${draft.target} is published under ${recorded}, not under ${grant.resource}`, {
      reason: "key_differs",
      details: { path: draft.target, recorded, resource: grant.resource },
      next: [`Hold ${recorded}, or something above it, to publish there.`],
    });
  const manifest: Manifest = {
    id: draft.id,
    op: draft.op,
    target: draft.target,
    tmpPath: draft.tmpPath,
    owner: grant.owner,
    resource: grant.resource,
    pathKey: draft.pathKey,
    lockId: grant.lockId,
    fencingToken: grant.fencingToken,
    targetKey: recorded,
    state: "pending",
    // mutant: publish-begun-order: createdAt: nextTime(now, view.now.wallMs), → createdAt: view.now.wallMs,
    createdAt: nextTime(now, view.now.wallMs),
    committedAt: null,
    sealed: null,
    fileCount: 0,
    byteCount: 0,
    isCleared: false,
  };
  return {
    result: {
      manifest,
      uncleared: now.filter(
        (each) => each.state !== "pending" && (isSameTree(each, grant) ? mayBeLeft(each) : !each.isCleared),
      ),
    },
    changes: {
      manifests: [...settled.map((each) => each.manifest), manifest],
      audit: settled.map((each) => each.entry),
      durable: settled.length > 0 ? true : "soon",
    },
  };
}

export function addFiles(
  view: LedgerView,
  ref: GrantRef,
  manifest: Manifest,
  files: readonly ManifestFile[],
): Outcome<void> {
  requireWriter(view, ref);
  return { result: undefined, changes: { files: { manifest, files } } };
}

/**
 * From here on a rename may have been made. The disk is at work on the files meanwhile, so it is also the time to forget
 * manifests that newer ones have outlived.
 */
export function seal(
  view: LedgerView,
  ref: GrantRef,
  manifest: Manifest,
  { identity, fileCount, byteCount }: Seal,
  files: readonly ManifestFile[],
): Outcome<Manifest> {
  requireWriter(view, ref);
  const known = requirePending(view, manifest);
  const sealed: Manifest = { ...manifest, sealed: identity, fileCount, byteCount };
  return {
    result: sealed,
    changes: {
      manifests: [sealed],
      manifestDrops: outlived(known, manifest),
      files: { manifest, files },
      durable: "soon",
    },
  };
}

/** The one step that makes it visible: check, rename, sync, and the record of it. */
export function commit(
  view: LedgerView,
  refs: readonly GrantRef[],
  party: Party,
  manifest: Manifest,
  make: () => boolean,
): Outcome<Manifest> {
  // mutant: publish-check: requireWriters(view, refs); →
  requireWriters(view, refs);
  const known = requirePending(view, manifest);
  const hasReplaced = make();
  const committed: Manifest = {
    ...manifest,
    state: "committed",
    committedAt: nextTime(known, view.now.wallMs),
    isCleared: !hasReplaced,
  };
  return {
    result: committed,
    changes: { manifests: [committed], audit: [publishEntry(view, committed, party)], durable: "soon" },
  };
}

/** Settles a manifest that is still pending; one of a live writer only for that writer itself. */
export function settleOne(
  view: LedgerView,
  { id, target }: ManifestRef,
  party: Party,
  mine: boolean,
  witness: Witness,
): Outcome<Manifest | null> {
  const current = view.manifestsOf(target).find((each) => each.id === id);
  if (current === undefined) return { result: null, changes: null };
  if (current.state !== "pending" || (!mine && isLive(view, current, witness)))
    return { result: current, changes: null };
  const settled = settle(view, current, party);
  return {
    result: settled.manifest,
    changes: { manifests: [settled.manifest], audit: [settled.entry], durable: true },
  };
}

export function clear(view: LedgerView, manifest: Manifest): Outcome<void> {
  const known = view.manifestsOf(manifest.target);
  const current = known.find(({ id }) => id === manifest.id);
  if (current === undefined || current.state === "pending") return { result: undefined, changes: null };
  return {
    result: undefined,
    changes: {
      manifests: current.isCleared ? [] : [{ ...current, isCleared: true }],
      manifestDrops: outlived(known, current),
    },
  };
}

/** Those in the tree of `manifest` that newer ones have outlived and of which nothing is left; never itself. */
function outlived(known: readonly Manifest[], manifest: Manifest): readonly Manifest[] {
  if (known.length < KEPT + AT_A_TIME) return [];
  const newest = lastCommitted(known);
  const over = known.filter(
    (each) => each !== newest && each.id !== manifest.id && each.state !== "pending" && isSameTree(each, manifest),
  );
  if (over.length < KEPT + AT_A_TIME) return [];
  return over.slice(0, over.length - KEPT).filter((each) => !mayBeLeft(each));
}

function isSameTree(a: Pick<Manifest, "resource">, b: Pick<Manifest, "resource">): boolean {
  return treeOf(a.resource) === treeOf(b.resource);
}

/** Returns all manifests of its target. `E_LOCK_NOT_HELD` */
function requirePending(view: LedgerView, { id, target, resource }: Manifest): readonly Manifest[] {
  const known = view.manifestsOf(target);
  if (known.find((each) => each.id === id)?.state !== "pending")
    throw notHeld(resource, `the publish to ${target} was ended by somebody else`);
  return known;
}
