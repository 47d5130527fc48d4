/**
 * Going back after a restore in place was interrupted.
 *
 *   1  note      the rescue snapshot of the interrupted restore, in `restores/NAME.revert`
 *   2  finish    what the journal has decided: only a payload that is whole can be told from what is not saved
 *   3  restore   the rescue snapshot in place, as any other, with a rescue snapshot of its own
 *   4  forget    the note
 *
 * A crash after 1 leaves the note. Asked for again, the revert goes on: a restore found under way that leads to the noted
 * snapshot is the revert itself, and is only finished. Without the note the second try would turn it round again. Any
 * other verb on the worktree finishes what the journal has and forgets the note.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { removeFile, replaceFile } from "../../support/durable-file.js";
import type { Layout } from "../layout.js";
import { readSealedIfThere, sealText } from "../sealed-file.js";
import type { RestoredInPlace } from "./in-place.js";
import { journalOf } from "./journal.js";

interface RevertNote {
  readonly worktree_id: string;
  readonly rescue_id: string;
}

export interface RevertSteps {
  finish(): Promise<RestoredInPlace | null>;
  restore(snapshotId: string): Promise<RestoredInPlace>;
}

/** Null when nothing was interrupted. */
export async function revert(layout: Layout, name: string, steps: RevertSteps): Promise<RestoredInPlace | null> {
  const path = notePath(layout, name);
  const noted = readSealedIfThere<RevertNote>(path)?.rescue_id;
  const rescue = noted ?? journalOf(layout, name).journal()?.rescue_id;
  if (rescue === undefined) return steps.finish();
  if (noted === undefined) {
    const note: RevertNote = { worktree_id: name, rescue_id: rescue };
    replaceFile(path, Buffer.from(sealText(note)), true);
  }
  const done = await steps.finish();
  const reverted = done?.snapshot_id === rescue ? done : await steps.restore(rescue);
  forgetRevert(layout, name);
  return reverted;
}

export function forgetRevert(layout: Layout, name: string): void {
  const path = notePath(layout, name);
  if (existsSync(path)) removeFile(path);
}

function notePath({ restores }: Layout, name: string): string {
  return join(restores, `${name}.revert`);
}
