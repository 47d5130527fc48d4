/**
 * Restores a snapshot in place.
 *
 *   1  rescue    a snapshot of what is there: only what it has saved is replaced
 *   2  stage     the steps that lead to the wanted state, and the new files, beside the payload; synced
 *   3  hold      a detached lock `worktree:NAME/restore` below the caller's, and one on the payload's own key: they outlive
 *                this process, so no other holder is granted the worktree or its files until the restore is settled. Its token is on the disk before the lock is requested
 *   4  decide    the journal, in one step under the guard that checks the caller's lease and fence
 *   5  apply     a few steps at a time, each bunch in one step under the guard that checks the hold; old files are put
 *                aside, not removed; progress is noted
 *   6  done      head and audit entry in one such step
 *   7  tidy      files that were put aside are removed if they are saved, else kept and named; the hold is released
 *
 * A crash in 1 to 3 has changed nothing in the payload; the next process that settles tidies up. After 4 the next settling
 * finishes it: by the next snapshot, restore or removal of the worktree, `restore --resume`, or `doctor --repair`. To go
 * back instead, restore the rescue snapshot: `restore --revert` does both. A stale token fails in 4, with nothing touched.
 *
 * Not promised: the hold is a lease of 24 hours. A process that acquires the lock through the library a day after a crash
 * that was never settled finds a half-restored payload; the verbs here still settle it first.
 */
import { lstatSync, mkdirSync, opendirSync, readdirSync, renameSync, rmSync, unlinkSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { HoldfastError } from "../../../base/errors.js";
import type { Holdfast } from "../../../client/holdfast.js";
import { syncFolder } from "../../../files/durable-file.js";
import { isThere } from "../../../platform/look-up.js";
import { pinObjects, tryMark } from "../collect/pins.js";
import { type Layout, worktreeKey } from "../layout.js";
import { getWorktree, payloadOf, type WorktreeRecord } from "../registry.js";
import { manifestOf } from "../snapshot/compare.js";
import { writeHead } from "../snapshot/heads.js";
import { newSnapshotId } from "../snapshot/snapshot-id.js";
import { openObjects } from "../snapshot/snapshots.js";
import type { Committer, Site } from "../snapshot/take-snapshot.js";
import { hasToldRestore } from "../worktree-lock.js";
import { applyStep } from "./apply.js";
import { type Hold, openHold, takeHold } from "./hold.js";
import { type Journal, type JournalFolder, journalOf, type Place } from "./journal.js";
import { plan } from "./plan.js";
import { forgetRevert, noteReverted } from "./revert.js";
import { bunchesOf, type StepWriter } from "./steps.js";
import { syncTree } from "./sync-tree.js";

interface Kept {
  /** Where what was not saved is now. */
  readonly at: string;
}

export interface RestoredInPlace {
  readonly worktree_id: string;
  readonly snapshot_id: string;
  readonly rescue_id: string;
  readonly kept: readonly Kept[];
}

export interface InPlaceRequest {
  readonly worktree: WorktreeRecord;
  readonly snapshotId: string;
  readonly rescueId: string;
  /** The lease tokens of those who may write here. */
  readonly tokens: readonly string[];
  onProgress(files: number, bytes: number): void;
}

/** Steps that are one step under the guard: some milliseconds. */
const BUNCH = 100;

/** After the rescue snapshot: stages, decides, applies. */
export async function restoreInPlace(
  site: Site,
  holdfast: Holdfast,
  request: InPlaceRequest,
  committer: Committer,
): Promise<RestoredInPlace> {
  const { layout } = site;
  const name = request.worktree.worktree_id;
  const files = journalOf(layout, name);
  using _mark = mark(files, name);
  let hold: Hold | null = null;
  try {
    const place = choosePlace(site, request.worktree);
    files.writePlace(place);
    const steps = files.newSteps();
    await stage(layout, request, place, steps);
    const written = steps.finish();
    await syncTree(place.stage);
    hold = await takeHold(holdfast, { name, payload: place.payload, tokens: request.tokens }, files);
    const journal: Journal = {
      schema_version: 1,
      worktree_id: name,
      snapshot_id: request.snapshotId,
      rescue_id: request.rescueId,
      ...written,
      begun_at: new Date(site.clock().wallMs).toISOString(),
      owner: site.owner,
    };
    await committer.commit(() => files.decide(journal), null, {});
  } catch (error) {
    if (files.journal() === null) await forget(files, hold);
    throw error;
  }
  return finish(layout, files, hold, async () => false);
}

/** Finishes what a crash interrupted. Null when there is nothing. `E_LOCK_CONFLICT` while its process lives. */
export async function settle(
  { layout }: Site,
  holdfast: Holdfast,
  name: string,
  { isReverting = false } = {},
): Promise<RestoredInPlace | null> {
  const files = journalOf(layout, name);
  // mutant: tree-live-revert: using own = isThere( → forgetRevert(layout, name); using own = isThere(
  using own = isThere(files.folder) ? mark(files, name) : null;
  if (!isReverting) forgetRevert(layout, name); // Never that of a revert whose process lives.
  if (own === null || !isThere(files.folder)) return null;
  const isDecided = files.journal() !== null;
  const hold = await openHold(holdfast, name, payloadOf(layout, getWorktree(layout, name)), files, isDecided);
  if (isDecided && hold !== null) return finish(layout, files, hold, (id) => hasToldRestore(holdfast, name, id));
  await forget(files, hold);
  return null;
}

async function stage(
  layout: Layout,
  { snapshotId, rescueId, worktree, onProgress }: InPlaceRequest,
  place: Place,
  steps: StepWriter,
): Promise<void> {
  using _pin = await pinObjects(layout);
  using reader = openObjects(layout);
  await plan({
    reader,
    now: manifestOf(layout, rescueId),
    wanted: manifestOf(layout, snapshotId),
    cache: join(layout.caches, worktree.worktree_id),
    place,
    steps,
    onProgress,
  });
}

/** In the workspace's own folder when that is on the payload's file system, else beside the payload. */
function choosePlace({ layout, clock }: Site, worktree: WorktreeRecord): Place {
  const payload = payloadOf(layout, worktree);
  const id = newSnapshotId(clock().wallMs);
  const isNear = lstatSync(layout.base).dev === lstatSync(payload).dev;
  const beside = join(dirname(payload), `.${basename(payload)}.holdfast-${id}`);
  return {
    restore_id: id,
    worktree_id: worktree.worktree_id,
    payload,
    stage: isNear ? join(layout.restores, worktree.worktree_id, "stage") : beside,
    kept: isNear ? join(layout.base, "kept", id) : `${beside}.kept`,
  };
}

/** `hasTold`: whoever was killed after the entry and before the mark has left the entry behind. */
async function finish(
  layout: Layout,
  files: JournalFolder,
  hold: Hold,
  hasTold: (restoreId: string) => Promise<boolean>,
): Promise<RestoredInPlace> {
  const journal = files.journal();
  const place = files.place();
  if (journal === null || place === null) throw new RangeError("there is no decision to carry out");
  const { worktree_id: name, snapshot_id: snapshotId, rescue_id: rescueId } = journal;
  if (!files.isApplied()) {
    await apply(files, hold, journal, place);
    const details = { restore_id: place.restore_id, snapshot_id: snapshotId, rescue_id: rescueId };
    // mutant: tree-restore-told-once: .restore_id)) ? null : "restore"; → .restore_id)) ? "restore" : "restore";
    const event = (await hasTold(place.restore_id)) ? null : "restore";
    await hold.commit(() => writeHead(layout, name, snapshotId, snapshotId), event, details);
    files.markApplied();
  }
  const kept = tidy(place);
  // mutant: tree-revert-done: noteReverted(layout, journal); → void noteReverted;
  noteReverted(layout, journal);
  files.close();
  await hold.release();
  files.remove();
  return { worktree_id: name, snapshot_id: snapshotId, rescue_id: rescueId, kept };
}

async function apply(files: JournalFolder, hold: Hold, journal: Journal, place: Place): Promise<void> {
  let done = files.progress();
  for (const { steps, endsPhase } of bunchesOf(files.readSteps(journal, done), BUNCH)) {
    await hold.commit(
      () => {
        for (const step of steps) applyStep(place, step);
      },
      null,
      {},
    );
    done += steps.length;
    // A later phase relies on this one: what it did must not be lost alone in a power cut.
    if (endsPhase) await syncTree(place.payload);
    files.writeProgress(done);
  }
}

/** Removes what is saved. Only what is not is left, in a place of its own. */
function tidy({ stage: folder, kept }: Place): Kept[] {
  const old = join(folder, "old");
  for (const name of namesOneByOne(old)) {
    if (!name.startsWith("keep-")) unlinkSync(join(old, name));
    else {
      mkdirSync(kept, { recursive: true });
      renameSync(join(old, name), join(kept, name.slice("keep-".length)));
    }
  }
  if (isThere(kept)) syncFolder(kept);
  rmSync(folder, { recursive: true, force: true });
  return isThere(kept) ? readdirSync(kept).map((name) => ({ at: join(kept, name) })) : [];
}

/** Never all of them at once: every file of a tree may have been put aside. None when there is no such folder. */
function* namesOneByOne(folder: string): Generator<string> {
  if (!isThere(folder)) return;
  const names = opendirSync(folder);
  try {
    for (let entry = names.readSync(); entry !== null; entry = names.readSync()) yield entry.name;
  } finally {
    names.closeSync();
  }
}

/** Before the decision: nothing has happened, and nothing stays. */
async function forget(files: JournalFolder, hold: Hold | null): Promise<void> {
  const place = files.place();
  if (place !== null) rmSync(place.stage, { recursive: true, force: true });
  await hold?.release();
  files.remove();
}

function mark(files: JournalFolder, name: string): Disposable {
  const own = tryMark(files.mark);
  if (own !== null) return own;
  throw new HoldfastError("E_LOCK_CONFLICT", `${worktreeKey(name)} is being restored in place by another process`, {
    next: ["Wait for it to end, then try again."],
  });
}
