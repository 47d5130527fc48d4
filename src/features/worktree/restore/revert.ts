/**
 * Reverts a restore in place that was interrupted.
 *
 *   1  note      the rescue snapshot of the interrupted restore, in `restores/NAME.revert`
 *   2  finish    the restore in the journal: only in a whole payload is it clear what is not saved
 *   3  restore   the rescue snapshot in place, as any other, with a rescue snapshot of its own; before its journal goes, the
 *                note says that it is done
 *   4  forget    the note
 *
 * A crash after 1 leaves the note. When the revert is called again, it continues: a restore under way that leads to the
 * noted snapshot is the revert itself, and is only finished; when the note says that it is done, only tidying is left.
 * Without the note the second try would revert the revert. Any other verb on the worktree finishes the restore in the
 * journal and forgets the note.
 */
import { join } from "node:path";
import { removeFile, replaceFile } from "../../../files/durable-file.js";
import { isThere } from "../../../platform/look-up.js";
import type { Layout } from "../layout.js";
import { readSealedIfThere, sealText } from "../sealed-file.js";
import type { RestoredInPlace } from "./in-place.js";
import { type Journal, journalOf } from "./journal.js";

interface RevertNote {
  readonly worktree_id: string;
  readonly rescue_id: string;
  /** Once the payload is back: the rescue snapshot that was taken before. */
  readonly reverted_by?: string;
}

export interface RevertSteps {
  finish(): Promise<RestoredInPlace | null>;
  restore(snapshotId: string): Promise<RestoredInPlace>;
}

/** Null when nothing was interrupted. */
export async function revert(layout: Layout, name: string, steps: RevertSteps): Promise<RestoredInPlace | null> {
  const noted = readSealedIfThere<RevertNote>(notePath(layout, name));
  const rescue = noted?.rescue_id ?? journalOf(layout, name).journal()?.rescue_id;
  if (rescue === undefined) return steps.finish();
  if (noted === null) writeNote(layout, { worktree_id: name, rescue_id: rescue });
  const done = (await steps.finish()) ?? doneBy(noted);
  // mutant: tree-revert-note: ?.snapshot_id === rescue ? done : await steps.restore(rescue → === null ? null : await steps.restore(done.rescue_id
  const reverted = done?.snapshot_id === rescue ? done : await steps.restore(rescue);
  forgetRevert(layout, name);
  return reverted;
}

function doneBy(noted: RevertNote | null): RestoredInPlace | null {
  if (noted?.reverted_by === undefined) return null;
  const { worktree_id, rescue_id: snapshot_id, reverted_by: rescue_id } = noted;
  return { worktree_id, snapshot_id, rescue_id, kept: [] };
}

/** For a restore whose journal is about to go: if it is the revert itself, it is not to be made once more. */
export function noteReverted(layout: Layout, { worktree_id, snapshot_id, rescue_id }: Journal): void {
  const noted = readSealedIfThere<RevertNote>(notePath(layout, worktree_id));
  if (noted?.rescue_id === snapshot_id && noted.reverted_by === undefined)
    writeNote(layout, { ...noted, reverted_by: rescue_id });
}

function writeNote(layout: Layout, note: RevertNote): void {
  replaceFile(notePath(layout, note.worktree_id), Buffer.from(sealText(note)), true);
}

export function forgetRevert(layout: Layout, name: string): void {
  const path = notePath(layout, name);
  if (isThere(path)) removeFile(path);
}

function notePath({ restores }: Layout, name: string): string {
  return join(restores, `${name}.revert`);
}
