/**
 * The hook of git: refuses a commit that touches files which another run holds. It acquires nothing. It is the second
 * check behind the hooks of the agent tools, for files that were written past them. `git commit --no-verify` skips this
 * one too.
 */
import { resolve } from "node:path";
import { HoldfastError } from "../../base/errors.js";
import type { Holdfast } from "../../client/holdfast.js";
import { kernelOf } from "../../client/kernel.js";
import { pathKeyInside } from "../../client/path-key.js";
import { tokensOf } from "../../client/workspace/token-files.js";
import type { TokenFolder } from "../../client/workspace/token-folder.js";
import { contentionReport } from "../../lock/contention.js";
import type { Grant } from "../../lock/grant.js";
import { isWithin, type Key, treeOf } from "../../lock/key.js";
import { hashLeaseToken } from "../../lock/lease-token.js";
import { isExpired } from "../../lock/profile.js";
import type { Instant } from "../../lock/time.js";
import { lifeByPid } from "../../platform/liveness/liveness.js";
import { isOtherStart } from "../../platform/machine.js";
import { ancestorsOfThis } from "../../platform/process/ancestors.js";
import { git } from "./git.js";
import { isServerOf } from "./own-server.js";

/** Returns the keys of what the next commit changes, as far as it lies in the workspace. Throws `E_CONFIG` without a repository. */
export function stagedKeys(root: string, cwd: string): Key[] {
  const top = git(cwd, "rev-parse", "--show-toplevel").trimEnd();
  const names = git(cwd, "diff", "--cached", "--name-only", "--no-renames", "-z").split("\0").filter(Boolean);
  return names.map((name) => pathKeyInside(root, resolve(top, name))).filter((key) => key !== null);
}

/** `E_LOCK_CONFLICT` with the report when another run holds one of them. */
export async function assertNobodyElseHolds(
  holdfast: Holdfast,
  keys: readonly Key[],
  folder: TokenFolder,
): Promise<void> {
  const others = (await heldPaths(holdfast, keys)).filter((grant) => !isOwn(grant, holdfast, folder));
  for (const key of keys) {
    const inTheWay = others.filter(({ resource }) => isWithin(key, resource) || isWithin(resource, key));
    // mutant: hook-git: if (inTheWay.length === 0) continue; → if (inTheWay.length >= 0) continue;
    if (inTheWay.length === 0) continue;
    const contention = contentionReport(key, inTheWay, [], kernelOf(holdfast).clock());
    throw new HoldfastError("E_LOCK_CONFLICT", `the commit changes ${key}, which ${contention.owner} holds`, {
      details: { resource: key, contention },
      next: [`Commit the other files, or wait until it is free: holdfast lock wait ${key}`],
    });
  }
}

/** Lists what is held in the trees of these keys: files of other worktrees have trees of their own. */
async function heldPaths(holdfast: Holdfast, keys: readonly Key[]): Promise<Grant[]> {
  const { pages, clock } = kernelOf(holdfast);
  const found: Grant[] = [];
  for (const tree of new Set(keys.map(treeOf)))
    for await (const page of pages(tree)) {
      const now = clock();
      found.push(...page.filter((grant) => grant.mode !== "read" && !isExpired(grant, now) && !isDead(grant, now)));
    }
  return found;
}

function isDead(grant: Grant, now: Instant): boolean {
  return lifeByPid(grant, grant.renewedAt, now) === "dead";
}

/** Taken under this name by this user, or for an agent whose command this commit is. */
function isOwn({ owner, tokenHash, proof, resource }: Grant, holdfast: Holdfast, folder: TokenFolder): boolean {
  const isKept = tokensOf(folder, holdfast.owner).some(
    (kept) => kept.resource === resource && (tokenHash === "" || hashLeaseToken(kept.lease_token) === tokenHash),
  );
  if (owner === holdfast.owner && isKept) return true;
  if (proof.kind !== "pid") return false;
  const above = ancestorsOfThis();
  const isAbove = above.some(({ pid, startTime }) => pid === proof.pid && !isOtherStart(startTime, proof.startTime));
  return (
    isAbove ||
    isServerOf(
      proof.pid,
      above.map(({ pid }) => pid),
    )
  );
}
