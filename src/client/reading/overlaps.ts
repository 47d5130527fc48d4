/**
 * Finds files that are held in several trees at once: in two worktrees of a repository, or in two workspaces of one store.
 * They are different files, so nothing is refused; their changes meet when the branches are merged.
 *
 * A path overlaps with itself, with the folders above it and with all below it. A worktree that is held as a whole overlaps
 * with nothing, because that is how a command passes over it.
 */
import type { Grant } from "../../lock/grant.js";
import { type Key, treeOf } from "../../lock/key.js";
import { isExpired } from "../../lock/profile.js";
import { isFileKey } from "../../lock/reserved-kinds.js";
import { lifeByPid } from "../../platform/liveness/liveness.js";
import type { Kernel } from "../kernel.js";

export interface Overlap {
  readonly own: Grant;
  readonly other: Grant;
}

/** Returns the path of a file within its tree, empty for the tree as a whole. */
export function pathInTree(key: Key): string {
  return key.slice(treeOf(key).length + 1);
}

/** Reads what is held on files in all trees, without what has run out and what a dead process left. */
export async function liveFiles(kernel: Kernel, hashes: readonly string[] = []): Promise<readonly Grant[]> {
  const found: Grant[] = [];
  for await (const page of kernel.filePages(hashes)) {
    const now = kernel.clock();
    for (const grant of page) {
      const isLive = !isExpired(grant, now) && lifeByPid(grant, grant.renewedAt, now) !== "dead";
      if (isLive && isFileKey(grant.resource)) found.push(grant);
    }
  }
  return found;
}

/** Looks up which of some grants overlap with another one, whatever their number. */
export class OverlapFinder {
  readonly #at = new Map<string, Grant[]>();
  readonly #below = new Map<string, Grant[]>();

  constructor(own: readonly Grant[]) {
    for (const grant of own.filter(isWrite)) {
      const [path = "", ...above] = pathsUp(pathInTree(grant.resource));
      add(this.#at, path, grant);
      for (const folder of above) add(this.#below, folder, grant);
    }
  }

  /** The other one's own tree is left out: there the locks exclude each other. */
  overlapsWith(other: Grant): readonly Overlap[] {
    if (!isWrite(other)) return [];
    const path = pathInTree(other.resource);
    const found = [...pathsUp(path).flatMap((at) => this.#at.get(at) ?? []), ...(this.#below.get(path) ?? [])];
    const tree = treeOf(other.resource);
    return found.filter(({ resource }) => treeOf(resource) !== tree).map((own) => ({ own, other }));
  }
}

function isWrite({ mode, permits, resource }: Grant): boolean {
  return mode !== "read" && permits === null && pathInTree(resource) !== "";
}

/** The path and the folders above it, without the top. */
function pathsUp(path: string): readonly string[] {
  const found: string[] = [];
  for (let at = path; at !== ""; at = at.slice(0, Math.max(0, at.lastIndexOf("/")))) found.push(at);
  return found;
}

function add(map: Map<string, Grant[]>, path: string, grant: Grant): void {
  const there = map.get(path);
  if (there === undefined) map.set(path, [grant]);
  else there.push(grant);
}
