/**
 * Finds the remains of crashed publishes, for the people who maintain a workspace, and says which content stands at their
 * targets. Changes nothing; `settleAll` settles what is left.
 */

import { ioError } from "../../../base/errors.js";
import type { Holdfast } from "../../../client/holdfast.js";
import { kernelOf, type Manifests, type Party, type Reader } from "../../../client/kernel.js";
import { removeTree } from "../../../files/remove-tree.js";
import { type Manifest, type ManifestRecord, toManifestRecord } from "../../../lock/manifest.js";
import { isGone } from "../../../lock/profile.js";
import type { Clock } from "../../../platform/clock.js";
import { leftoversOf, lookAt, placeAt } from "../../../platform/exchange.js";
import { manifestsHere } from "./manifests-here.js";

/** What stands at the target: the content of this publish, that from before it, or nothing. */
export type StandingContent = "new" | "old" | "none";

export interface UnfinishedPublish {
  /**
   * `publish_left`: pending, and its writer is gone. `publish_open`: its content is in place and not on record, and its
   * writer may still put it there. `stage_left`: it has ended, and something of it still lies about.
   */
  readonly kind: "publish_left" | "publish_open" | "stage_left";
  readonly manifest: ManifestRecord;
  /** Null for `stage_left`. */
  readonly content: StandingContent | null;
}

/** The same in words, after the name of the target. */
export const STANDING: Readonly<Record<StandingContent, string>> = {
  new: "its new content stands there",
  old: "the content from before it stands there",
  none: "nothing stands there",
};

/** What is read to find them: of a store, or of one that is only examined. */
export interface Records {
  readonly manifests: Pick<Manifests, "list">;
  readonly reader: Pick<Reader, "inspect" | "life">;
  readonly clock: Clock;
}

/** Publishes that were not finished, or that left something on the disk. */
export async function findUnfinished(holdfast: Holdfast): Promise<readonly UnfinishedPublish[]> {
  const found: UnfinishedPublish[] = [];
  for await (const { manifest, ...about } of unfinishedIn(recordsOf(holdfast)))
    found.push({ ...about, manifest: toManifestRecord(manifest) });
  return found;
}

/** Settles them, each by what is on the disk, and removes what they left. Returns how they ended. */
export async function settleUnfinished(holdfast: Holdfast): Promise<readonly ManifestRecord[]> {
  return settleAll(recordsOf(holdfast), kernelOf(holdfast).requester);
}

export function recordsOf(holdfast: Holdfast): Records & { readonly manifests: Manifests } {
  const kernel = kernelOf(holdfast);
  return { manifests: kernel.manifests, reader: kernel, clock: kernel.clock };
}

export async function settleAll(
  records: Records & { readonly manifests: Manifests },
  party: Party,
): Promise<readonly ManifestRecord[]> {
  const { manifests } = records;
  const settled: ManifestRecord[] = [];
  for await (const { manifest } of unfinishedIn(records)) {
    const ended = await manifests.settle(manifest, party, false);
    if (ended === null || ended.state === "pending") continue;
    for (const path of leftoversOf(ended.tmpPath)) await removeTree(path);
    await manifests.clear(ended);
    settled.push(toManifestRecord({ ...ended, isCleared: true }));
  }
  return settled;
}

export interface Unfinished extends Omit<UnfinishedPublish, "manifest"> {
  readonly manifest: Manifest;
}

/** The same, of a store that is only looked at. */
export async function* unfinishedIn(records: Records): AsyncGenerator<Unfinished> {
  for await (const manifest of manifestsHere(records.manifests)) {
    const found = await unfinished(manifest, records);
    if (found !== null) yield found;
  }
}

/** Null for a publish that has ended with nothing left of it, and for one that is under way. */
export async function unfinished(
  manifest: Manifest,
  records: Pick<Records, "reader" | "clock">,
): Promise<Unfinished | null> {
  if (manifest.state !== "pending") {
    const isLeft = !manifest.isCleared && leftoversOf(manifest.tmpPath).some((path) => placeAt(path) !== "absent");
    return isLeft ? { kind: "stage_left", manifest, content: null } : null;
  }
  const content = contentAt(manifest);
  if (await isLeft(manifest, records)) return { kind: "publish_left", manifest, content };
  return content === "new" ? { kind: "publish_open", manifest, content } : null;
}

/** Which content stands at the target of a publish that is pending. `E_IO` */
export function contentAt({ sealed, tmpPath, target }: Manifest): StandingContent {
  try {
    // mutant: publish-standing: lookAt(tmpPath, target, sealed) === "made") return "new"; → lookAt(tmpPath, target, sealed) === "made") return "old";
    if (sealed !== null && lookAt(tmpPath, target, sealed) === "made") return "new";
    return placeAt(target) === "absent" ? "none" : "old";
  } catch (error) {
    throw ioError(error, "look at", target);
  }
}

/** Its writer can go on no more: the grant is not there, its lease is over, or its process is dead. */
async function isLeft(
  { resource, lockId }: Manifest,
  { reader, clock }: Pick<Records, "reader" | "clock">,
): Promise<boolean> {
  const { grants } = await reader.inspect(resource);
  const grant = grants.find((each) => each.lockId === lockId);
  // mutant: publish-left-gone: || isGone(grant, clock(), reader); → ;
  return grant === undefined || isGone(grant, clock(), reader);
}
