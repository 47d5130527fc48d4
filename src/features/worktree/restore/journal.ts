/**
 * The files on the disk of a restore in place, in `restores/NAME/`:
 *
 *   place.json     where the new files are staged and the old ones put aside; written before the first of them
 *   hold           the lease token of the lock that keeps other holders out until the restore is settled; mode 0600
 *   steps          the steps of the restore, a line of JSON each
 *   journal.json   the decision: once it is there, the restore will be finished. It has the hash of the steps
 *   progress       how many steps are done; those after it may be done in part, and are done again
 *   applied        the payload is the snapshot's; only tidying up is left
 *
 * protocol: restore journal
 */
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { HoldfastError } from "../../../base/errors.js";
import { replaceFile, syncFolder } from "../../../files/durable-file.js";
import { makeFolder, UNFINISHED } from "../../../platform/folder-rights.js";
import { isThere } from "../../../platform/look-up.js";
import { keptPath, type Layout } from "../layout.js";
import { readSealed, readSealedIfThere, sealText } from "../sealed-file.js";
import { createStepWriter, readSteps, type Step, type StepWriter } from "./steps.js";

export interface Place {
  readonly restore_id: string;
  readonly worktree_id: string;
  readonly payload: string;
  /** Holds `new/` and `old/`, on the file system of the payload. */
  readonly stage: string;
  /** Where what is not saved goes in the end. */
  readonly kept: string;
}

export interface Journal {
  readonly schema_version: number;
  readonly worktree_id: string;
  readonly snapshot_id: string;
  readonly rescue_id: string;
  readonly steps: number;
  readonly steps_hash: string;
  readonly begun_at: string;
  readonly owner: string;
}

export interface JournalFolder {
  readonly folder: string;
  readonly mark: string;
  place(): Place | null;
  writePlace(place: Place): void;
  hold(): string | null;
  keepHold(token: string): void;
  newSteps(): StepWriter;
  /** From the one of this number on. `E_STORE_CORRUPT` when they are not those of the journal. */
  readSteps(journal: Journal, from: number): Generator<Step>;
  journal(): Journal | null;
  decide(journal: Journal): void;
  progress(): number;
  writeProgress(count: number): void;
  isApplied(): boolean;
  markApplied(): void;
  /** Everything but the token of the hold, which must not be lost before the hold is released. */
  close(): void;
  remove(): void;
}

export function journalOf(layout: Layout, worktree: string): JournalFolder {
  const folder = join(layout.restores, worktree);
  const at = (name: string): string => join(folder, name);
  const text = (name: string): string | null => (isThere(at(name)) ? readFileSync(at(name), "utf8").trim() : null);
  return {
    folder,
    mark: join(layout.restores, `${worktree}.mark`),
    place() {
      const place = readSealedIfThere<Place>(at("place.json"));
      return place === null ? null : movedBy(place, (path) => resolve(layout.root, path));
    },
    writePlace(place) {
      makeFolder(folder);
      // mutant: tree-place-inside: (path) => keptPath(layout, path)) → (path) => (keptPath(layout, path), path))
      const text = sealText(movedBy(place, (path) => keptPath(layout, path)));
      replaceFile(at("place.json"), Buffer.from(text), true);
      syncFolder(layout.restores);
    },
    hold: () => text("hold"),
    keepHold(token) {
      replaceFile(at("hold"), Buffer.from(`${token}\n`), true);
    },
    newSteps: () => createStepWriter(at("steps")),
    readSteps({ steps_hash: hash, rescue_id: rescue }, from) {
      const steps = readSteps(at("steps"), hash, from);
      if (steps !== null) return steps;
      throw new HoldfastError("E_STORE_CORRUPT", `${at("steps")} is not what the journal decided`, {
        details: { path: at("steps") },
        next: [`The state before is snapshot ${rescue}: restore it to a new folder.`],
      });
    },
    journal: () => (isThere(at("journal.json")) ? readSealed<Journal>(at("journal.json")) : null),
    decide: (journal) => replaceFile(at("journal.json"), Buffer.from(sealText(journal)), true),
    progress: () => Number(text("progress") ?? 0),
    writeProgress: (count) => replaceFile(at("progress"), Buffer.from(`${count}\n`), true),
    isApplied: () => isThere(at("applied")),
    markApplied: () => replaceFile(at("applied"), Buffer.from("applied\n"), true),
    close() {
      // The journal goes first: without it, what is left is only tidied.
      for (const name of ["journal.json", "applied", "progress", "steps", "place.json"])
        rmSync(at(name), { force: true });
    },
    remove() {
      rmSync(folder, { recursive: true, force: true });
      syncFolder(layout.restores);
    },
  };
}

/** Who settles a copy of the workspace must not reach into the original. */
function movedBy(place: Place, move: (path: string) => string): Place {
  return { ...place, payload: move(place.payload), stage: move(place.stage), kept: move(place.kept) };
}

/** All worktrees a restore in place has left something of. */
export function unsettled(layout: Layout): string[] {
  if (!isThere(layout.restores)) return [];
  return readdirSync(layout.restores, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.endsWith(UNFINISHED))
    .map((entry) => entry.name);
}
