/**
 * Finds overlaps that an agent was not told of yet: files that it holds and that another owner holds in another worktree or
 * workspace. Each is reported to both, once, and stands in the audit trail of the own file as `overlap`.
 */
import { isHoldfastError } from "../../base/errors.js";
import type { Kernel } from "../../client/kernel.js";
import { liveFiles, type Overlap, OverlapFinder, pathInTree } from "../../client/reading/overlaps.js";
import { treeOf } from "../../lock/key.js";

export interface NewOverlaps {
  /** For the agent. */
  readonly lines: readonly string[];
  /** What it was told of by that. */
  readonly told: readonly string[];
}

interface Holder {
  readonly owner: string;
  /** The hashes of its lease tokens. */
  readonly hashes: readonly string[];
}

const NONE: NewOverlaps = { lines: [], told: [] };

export async function findNewOverlaps(
  kernel: Kernel,
  { owner, hashes }: Holder,
  told: readonly string[],
): Promise<NewOverlaps> {
  if (hashes.length === 0) return NONE;
  const known = new Set(hashes);
  const before = new Set(told);
  const grants = await liveFiles(kernel, hashes);
  const finder = new OverlapFinder(grants.filter(({ tokenHash }) => known.has(tokenHash)));
  const found = new Map<string, Overlap>();
  for (const other of grants.filter((grant) => !known.has(grant.tokenHash) && grant.owner !== owner))
    for (const overlap of finder.overlapsWith(other)) {
      const mark = `${overlap.own.resource} ${other.resource} ${other.owner}`;
      // mutant: overlap-told-once: if (!before.has(mark)) found → found
      if (!before.has(mark)) found.set(mark, overlap);
    }
  for (const overlap of found.values()) await putOnRecord(kernel, overlap);
  return { lines: [...found.values()].map(lineOf), told: [...found.keys()] };
}

/** In the step that finds the own grant still there; one that was lost meanwhile overlaps with nothing. */
async function putOnRecord(kernel: Kernel, { own, other }: Overlap): Promise<void> {
  const { resource, lockId, tokenHash } = own;
  const details = { other: other.resource, other_owner: other.owner, other_fencing_token: other.fencingToken };
  try {
    // mutant: overlap-on-record: event: "overlap", details }) → event: "overlap", details: {} })
    await kernel.commit([{ resource, lockId, tokenHash }], () => undefined, { event: "overlap", details });
  } catch (error) {
    if (!isHoldfastError(error, "E_LOCK_NOT_HELD") && !isHoldfastError(error, "E_LOCK_EXPIRED")) throw error;
  }
}

function lineOf({ own, other }: Overlap): string {
  const [here, there] = [treeOf(own.resource), treeOf(other.resource)];
  return `overlap: ${other.owner} holds ${pathInTree(other.resource)} in ${there}, and you hold ${pathInTree(
    own.resource,
  )} in ${here}. Both may go on; keep your change small, because the two meet when the branches are merged.`;
}
