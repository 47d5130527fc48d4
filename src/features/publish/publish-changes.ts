/**
 * Replaces a folder by a private copy in which the caller worked, in one fenced commit, or drops the copy. The folder
 * itself must not be changed by others in the meantime: evidence is taken before the copy, after it, and after the work;
 * the folder's own entry is checked again under the guard. A program that writes into it without holding the key, in the
 * last instant, is not noticed.
 */
import { resolve } from "node:path";
import { HoldfastError } from "../../base/errors.js";
import { kernelOf } from "../../client/kernel.js";
import type { Lease } from "../../client/lease/lease.js";
import type { ManifestRecord } from "../../lock/manifest.js";
import { isThere } from "../../platform/look-up.js";
import type { PublishOptions } from "./options.js";
import { publish } from "./protocol.js";
import { compareTrees, type TreeChanges } from "./stage/compare-trees.js";
import { copyTree } from "./stage/copy-tree.js";
import { evidenceOf, rootEvidence } from "./stage/tree-evidence.js";

export interface ChangesOutcome {
  /** Null when it was thrown away, or nothing had changed. */
  readonly manifest: ManifestRecord | null;
  /** Null when the work did not want it kept. */
  readonly changes: TreeChanges | null;
}

/**
 * `work` gets the path of the copy and says whether to keep it. As `publish`, and `E_CONSISTENCY_UNAVAILABLE` when the
 * folder changed meanwhile.
 */
export async function publishChanges(
  lease: Lease,
  folder: string,
  work: (copy: string) => Promise<boolean>,
  options: PublishOptions = {},
): Promise<ChangesOutcome> {
  const original = resolve(folder);
  const { clock } = kernelOf(lease);
  let before = "";
  let rootBefore = "";
  let changes: TreeChanges | null = null;
  let isUnwanted = false;

  const assertUnchanged = async (): Promise<void> => {
    // mutant: stage-evidence: await evidenceOf(original)) !== before) → await evidenceOf(original)) === null)
    if ((await evidenceOf(original)) !== before) throw changedMeanwhile(folder);
  };
  try {
    const { manifest } = await publish(
      lease,
      folder,
      async (stage) => {
        rootBefore = rootEvidence(original);
        before = await evidenceOf(original);
        const beganMs = clock().wallMs;
        if (isThere(original)) await copyTree(original, stage.path, stage.signal);
        const copying = { beganMs, endedMs: clock().wallMs };
        await assertUnchanged();
        if (await work(stage.path)) changes = await compareTrees(original, stage.path, copying);
        isUnwanted = changes === null || changes.paths.length === 0;
        if (isUnwanted) throw new Error("nothing to publish"); // What was staged goes, as after any failure.
      },
      {
        holdAtCommit: 0,
        ...options,
        op: "stage",
        beforeCommit: assertUnchanged,
        underGuard: () => {
          if (rootEvidence(original) !== rootBefore) throw changedMeanwhile(folder);
        },
      },
    );
    return { manifest, changes };
  } catch (error) {
    if (isUnwanted) return { manifest: null, changes };
    throw error;
  }
}

function changedMeanwhile(folder: string): HoldfastError {
  return new HoldfastError("E_CONSISTENCY_UNAVAILABLE", `${folder} was changed by other hands meanwhile`, {
    details: { path: folder },
    next: ["Look who else writes there; then run it again, on what is there now."],
  });
}
