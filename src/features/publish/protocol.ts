/**
 * Publishes a folder: every reader sees the old tree or the new one, and only the holder of the lock at that instant
 * decides. The steps, in this order, and what a crash right after each leaves:
 *
 *    1. the write lock is held, and one on the target, if      nothing
 *       that lies in the workspace
 *    2. settle what is left on the target; manifest `pending`  a manifest without a stage: aborted
 *    3. write into <parent>/tmp/<id>/                          a stage: aborted, then removed
 *    4. fsync every file                                       the same
 *    5. fsync the folders of the stage                         the same
 *    6. check that it is one device, by a real rename before   the same
 *       3, once for each folder of stages
 *    7. seal: list of files and identity of the stage          the same
 *       on record, on the disk
 *       ── from here on under the guard, one step ──
 *    8. check lease and fence of both; rename or exchange      the new tree is visible: rolled forward
 *    9. fsync both parents                                     the same
 *   10. manifest `committed`, with its audit entry             published; the old tree still at tmp/<id>
 *       ── the guard is left ──
 *   11. remove the old tree, and wait until the record of 10   the rest of it: removed by the next publish
 *       is on the disk: at the same time, but for a small tree
 *   12. release the lock if it was acquired for this; return   the same
 *
 * The order in which these reach the disk, since a power cut may lose the rest:
 *
 *    the manifest of 2   before 8, with the seal. Nothing is visible until then. If it is lost, the stage may be there
 *                        without it; the next publish to the target knows it by its name (record/unrecorded-stages.ts).
 *    files and folders   before 8. Their syncs, and that of the seal, are under way together: 8 waits for all of them.
 *    the seal of 7       before 8: it alone identifies the tree at the target afterwards.
 *    the rename of 8     before 10, so that `committed` never runs ahead of the disk.
 *    the record of 10    before 12. Until then it may be lost, and is made again from the seal and what is on the disk;
 *                        the old tree is not needed for that.
 *
 * A command in a private copy (`run --stage`) holds the target from the end of its work only, before 8: it tries again
 * until its wait is over. When the target is not free then, the stage moves to <target>.kept-<id>, which stays until a
 * person publishes or removes it.
 *
 * A crash is settled by the step that next grants the key, or one above or below it; by the next publish to the target; or
 * by `doctor`. The rules are in store/operations/settle.ts. Nothing of a live writer is touched.
 *
 * The check comes before the rename, in one step with it, because after it a late publisher would have overwritten its
 * successor already. It is one step for stealers too, since they need the same guard. Both parents are synced, because
 * the rename takes a name out of one folder and puts it into another.
 *
 * A sync that fails is final: the system reports it once and then forgets, so trying again would "succeed" while the data
 * is gone. Before the rename the publish is abandoned. After it the outcome is unknown: `E_COMMIT_UNCERTAIN`, and recovery
 * examines the disk if the manifest is still pending then.
 *
 * Not promised: that a reader who opens several files, one after the other, gets all of them from one tree (open the
 * folder once, or link to it by a version); that a reader deep in the old tree finds files it has not opened yet; that
 * programs which write into the target without holding the key are kept out.
 *
 * protocol: publish manifest
 */

import { renameSync } from "node:fs";
import { checkOptions } from "../../base/check-options.js";
import { HoldfastError, ioError, isHoldfastError } from "../../base/errors.js";
import type { ManifestDraft } from "../../client/kernel.js";
import { noteGone } from "../../files/publish-leftovers.js";
import { removeTree } from "../../files/remove-tree.js";
import type { Manifest } from "../../lock/manifest.js";
import { toManifestRecord } from "../../lock/manifest.js";
import { leftoversOf } from "../../platform/exchange.js";
import { PUBLISH, type PublishOptions, type PublishResult, reporter, type Tell } from "./options.js";
import { Placement } from "./placement.js";
import { type Hand, type Publisher, takeHand } from "./publisher.js";
import { removeForgotten } from "./record/unrecorded-stages.js";
import { sealStage } from "./stage/seal.js";
import { openStage, type Stage } from "./stage/stage.js";
import { newStageName } from "./stage/stage-name.js";
import { assertApart, makeStageFolder, removeStageFolder, resolvePlace, type Target, targetAt } from "./target.js";

/** Files of a tree that is small. */
const A_FEW = 8;

/**
 * Publishes what `fill` writes into the stage as `target`, all at once or not at all. `E_LOCK_EXPIRED`,
 * `E_FENCING_MISMATCH`, `E_LOCK_NOT_HELD` when the lock is not (any more) held; `E_CONFIG` for another key than the
 * target's; `E_CROSS_DEVICE`, `E_IO`, `E_INVALID_ARGUMENT`; `E_COMMIT_UNCERTAIN` when recovery has to settle it.
 */
export async function publish(
  publisher: Publisher,
  target: string,
  fill: (stage: Stage) => Promise<unknown> | unknown,
  options: PublishOptions = {},
): Promise<PublishResult> {
  checkOptions(options, PUBLISH);
  const place = resolvePlace(target);
  const taking = takeHand(publisher, place.path, options);
  const hand = taking instanceof Promise ? await taking : taking;
  let result: PublishResult;
  try {
    if (options.holdAtCommit === undefined) await hand.holdTarget(0);
    // mutant: publish-own-folder: assertApart(place, hand.storeUrl, options.workspace); → void assertApart;
    assertApart(place, hand.storeUrl, options.workspace);
    const id = newStageName(hand.storeUrl, place.path);
    result = await publishWith(hand, targetAt(place, id), fill, options);
  } catch (error) {
    await hand.release().catch(() => undefined);
    throw error;
  }
  await hand.release();
  return result;
}

async function publishWith(
  hand: Hand,
  target: Target,
  fill: (stage: Stage) => Promise<unknown> | unknown,
  options: PublishOptions,
): Promise<PublishResult> {
  const tell = reporter(options.onProgress);
  const { op = "publish" } = options;
  const draft = { id: target.id, op, target: target.path, tmpPath: target.stage, pathKey: hand.pathKey };
  let manifest = await begin(hand, target, draft);
  const placement = new Placement(target);
  let kept: string | null = null;
  try {
    if (options.holdAtCommit === undefined) await hand.claim(manifest);
    // mutant: publish-forgotten: await removeForgotten(hand. → if (target === null) await removeForgotten(hand.
    await removeForgotten(hand.manifests, hand.storeUrl, target);
    makeStageFolder(target);
    const stage = openStage(target.stage, hand.signal, tell);
    try {
      await fill(stage);
    } catch (error) {
      await stage.settle().catch(() => undefined);
      throw error;
    }
    hand.assertHeld();
    const sealed = await sealStage(hand, manifest, stage, tell, () => placement.prepare());
    if (options.holdAtCommit !== undefined) {
      await hand.holdTarget(options.holdAtCommit).catch((error: unknown) => {
        if (isHoldfastError(error, "E_LOCK_CONFLICT")) kept = keepStage(target);
        throw error;
      });
      await hand.claim(manifest);
    }
    await options.beforeCommit?.();
    tell({ phase: "committing" });
    manifest = await hand.commit(sealed, () => placement.make(options.underGuard));
  } catch (error) {
    placement.close();
    // mutant: publish-uncertain: ) throw uncertain(target, → && target === undefined) throw uncertain(target,
    if (placement.hasRenamed) throw uncertain(target, error);
    await abandon(hand, target);
    if (kept !== null) throw stageKept(hand, target, kept, error);
    throw await hand.reasonFor(error);
  }
  placement.close();
  await finish(hand, target, manifest, { placement, tell });
  return { manifest: toManifestRecord(manifest), replaced: !manifest.isCleared };
}

/** A begin that fails may be on record all the same. */
async function begin(hand: Hand, target: Target, draft: ManifestDraft): Promise<Manifest> {
  try {
    return await hand.step((manifests, grant, party) => manifests.begin(grant, party, draft));
  } catch (error) {
    await abandon(hand, target);
    throw error;
  }
}

/** The work in a stage is not lost because the target is held: it moves to a folder beside the target. */
function keepStage({ path, stage, id }: Target): string {
  const kept = `${path}.kept-${id}`;
  try {
    // mutant: publish-stage-kept: renameSync(stage, kept); → void renameSync;
    renameSync(stage, kept);
  } catch (error) {
    throw ioError(error, "keep", stage);
  }
  return kept;
}

function stageKept(hand: Hand, { path }: Target, kept: string, cause: unknown): HoldfastError {
  const details = isHoldfastError(cause, "E_LOCK_CONFLICT") ? cause.details : {};
  return new HoldfastError(
    "E_LOCK_CONFLICT",
    `${path} is not free, so nothing was published; the new folder is ${kept}`,
    {
      cause,
      details: { ...details, path, kept },
      next: [`holdfast publish ${path} --from ${kept} --lock ${hand.resource} --wait 2m`],
    },
  );
}

/** Nothing became visible: the stage goes, and the manifest ends. What fails here is left to whoever comes next. */
async function abandon(hand: Hand, target: Target): Promise<void> {
  for (const path of leftoversOf(target.stage)) await removeTree(path).catch(() => undefined);
  removeStageFolder(target);
  try {
    const which = { id: target.id, target: target.path, resource: hand.resource, pathKey: hand.pathKey };
    const ended = await hand.manifests.settle(which, hand.party, true);
    if (ended !== null && !ended.isCleared) await hand.manifests.clear(ended);
  } catch {
    // It stays pending, and is settled before the next grant.
  }
}

/**
 * The record is waited for, and the old tree goes. Of a small one only the names are waited for: then the quickest is one
 * after the other, without another thread.
 */
async function finish(
  hand: Hand,
  target: Target,
  manifest: Manifest,
  { placement, tell }: { readonly placement: Placement; readonly tell: Tell },
): Promise<void> {
  const standStill = manifest.fileCount <= A_FEW;
  // mutant: publish-commit-sync: hand.manifests.onDisk({ standStill }).catch( → Promise.resolve().catch(
  const onDisk = () => hand.manifests.onDisk({ standStill }).catch((error: unknown) => uncertain(target, error));
  const recorded = standStill ? null : onDisk();
  if (placement.hasReplaced) await cleanUp(placement, manifest, tell);
  const failure = await (recorded ?? onDisk());
  placement.letGo();
  // mutant: publish-commit-told: instanceof HoldfastError) throw failure; → === null) throw failure;
  if (failure instanceof HoldfastError) throw failure;
}

/** It is published: what cannot be removed now is removed by the next publish there. */
async function cleanUp(placement: Placement, manifest: Manifest, tell: Tell): Promise<void> {
  try {
    tell({ phase: "cleaning" });
    await placement.removeOld();
    noteGone(manifest);
  } catch {
    // The next publish there finds it.
  }
}

function uncertain({ path }: Target, cause: unknown): HoldfastError {
  return new HoldfastError("E_COMMIT_UNCERTAIN", `${path} was renamed, and then it failed to be made durable`, {
    cause,
    details: { path },
  });
}
