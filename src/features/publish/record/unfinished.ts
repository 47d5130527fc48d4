/** Finds the remains of crashed publishes, for the people who maintain a workspace. Changes nothing. */
import type { Holdfast } from "../../../client/holdfast.js";
import { kernelOf, type Manifests, type Party, type Reader } from "../../../client/kernel.js";
import { removeTree } from "../../../files/remove-tree.js";
import { type Manifest, type ManifestRecord, toManifestRecord } from "../../../lock/manifest.js";
import { leftoversOf, placeAt } from "../../../platform/exchange.js";
import { manifestsHere } from "./manifests-here.js";

export interface UnfinishedPublish {
  /** `publish_left`: pending, and its writer is gone. `stage_left`: it has ended, and something of it still lies about. */
  readonly kind: "publish_left" | "stage_left";
  readonly manifest: ManifestRecord;
}

/** What is read to find them: of a store, or of one that is only examined. */
interface Records {
  readonly manifests: Pick<Manifests, "list">;
  readonly reader: Pick<Reader, "inspect">;
}

/** Publishes that nobody finished, or that left something on the disk. */
export async function findUnfinished(holdfast: Holdfast): Promise<readonly UnfinishedPublish[]> {
  const found: UnfinishedPublish[] = [];
  for await (const { kind, manifest } of unfinishedIn(recordsOf(holdfast)))
    found.push({ kind, manifest: toManifestRecord(manifest) });
  return found;
}

/** Settles them, each by what is on the disk, and removes what they left. Returns how they ended. */
export async function settleUnfinished(holdfast: Holdfast): Promise<readonly ManifestRecord[]> {
  return settleAll(recordsOf(holdfast), kernelOf(holdfast).requester);
}

function recordsOf(holdfast: Holdfast): Records & { readonly manifests: Manifests } {
  const kernel = kernelOf(holdfast);
  return { manifests: kernel.manifests, reader: kernel };
}

export async function settleAll(
  { manifests, reader }: Records & { readonly manifests: Manifests },
  party: Party,
): Promise<readonly ManifestRecord[]> {
  const settled: ManifestRecord[] = [];
  for await (const { manifest } of unfinishedIn({ manifests, reader })) {
    const ended = await manifests.settle(manifest, party, false);
    if (ended === null || ended.state === "pending") continue;
    for (const path of leftoversOf(ended.tmpPath)) await removeTree(path);
    await manifests.clear(ended);
    settled.push(toManifestRecord({ ...ended, isCleared: true }));
  }
  return settled;
}

/** The same, of a store that is only looked at. */
export async function* unfinishedIn({
  manifests,
  reader,
}: Records): AsyncGenerator<{ readonly kind: UnfinishedPublish["kind"]; readonly manifest: Manifest }> {
  for await (const manifest of manifestsHere(manifests)) {
    if (manifest.state !== "pending") {
      const isLeft = !manifest.isCleared && leftoversOf(manifest.tmpPath).some((path) => placeAt(path) !== "absent");
      if (isLeft) yield { kind: "stage_left", manifest };
      continue;
    }
    const { grants } = await reader.inspect(manifest.resource);
    if (!grants.some(({ lockId }) => lockId === manifest.lockId)) yield { kind: "publish_left", manifest };
  }
}
