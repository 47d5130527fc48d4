/**
 * Refuses commands of git that would take `.holdfast/` away: `git clean -x` and `git stash --all`, which reach the store, and
 * `git clean -f` and `git stash -u` while the board has files that git does not track. The store is listed in
 * `info/exclude`, so commands that leave ignored files alone leave it alone.
 */
import { relative, sep } from "node:path";
import { HoldfastError } from "../../base/errors.js";
import { HOME } from "../../base/home-folder.js";
import { repositoryAround } from "../../client/workspace/repository.js";
import { searchWorkspace } from "../../client/workspace/search.js";
import { kindAt } from "../../platform/look-up.js";
import type { Sweep } from "./call.js";

const BOARD = `${HOME}/board`;

/** `own` is the root of the agent's own workspace. Throws `E_FORBIDDEN`. */
export function assertSparesHome(command: string, folder: string, sweep: Sweep, own: string | null): void {
  const { root, isThere, worktree } = searchWorkspace(folder);
  // A linked worktree has no `.holdfast/` of its own.
  if (worktree !== null) return;
  const top = repositoryAround(folder)?.top ?? folder;
  const roots = new Set([...(isThere ? [root] : []), ...(own === null ? [] : [own])]);
  for (const each of roots)
    if (repositoryAround(each)?.top === top) assertSpares(each, command, { folder, top, sweep });
}

interface Sweeping {
  readonly folder: string;
  readonly top: string;
  readonly sweep: Sweep;
}

function assertSpares(root: string, command: string, { folder, top, sweep: { isOfIgnored, below } }: Sweeping): void {
  const isStash = /\bstash\b/.test(command);
  // Without paths a stash takes the whole tree, and a clean what lies below the folder that it runs in.
  const swept = below === null || below.length > 0 ? below : [isStash ? top : folder];
  const reaches = (path: string): boolean =>
    swept === null || swept.some((at) => isBelow(at, path) || isBelow(path, at));
  const home = `${root}${sep}${HOME}`;
  // mutant: hook-sweeps-store: if (isOfIgnored && reaches(home)) → if (isOfIgnored && command === "")
  if (isOfIgnored && reaches(home))
    throw forbidden(command, `it takes ${HOME}/ away, where the locks are`, [
      `Leave it out: ${isStash ? "git stash -u" : `git clean with -e ${HOME}, and without -X`}.`,
    ]);
  const board = `${root}${sep}${BOARD}`;
  if (!reaches(board) || kindAt(board) !== "folder") return;
  const untracked = untrackedIn(root);
  // mutant: hook-sweeps-board: if (untracked > 0) → if (untracked < 0)
  if (untracked > 0)
    throw forbidden(command, `it takes ${untracked} new files of the board away, which git does not track yet`, [
      `Commit them first: git add ${BOARD} && git commit -m 'the board' ${BOARD}`,
    ]);
}

/** Git alone knows what it tracks. Where it does not answer, all counts as untracked. */
function untrackedIn(root: string): number {
  const args = ["ls-files", "--others", "--exclude-standard", "-z", "--", BOARD];
  // Loaded here, because few hooks get this far.
  const git = process.getBuiltinModule("node:child_process");
  const { status, stdout } = git.spawnSync("git", args, { cwd: root, encoding: "utf8" });
  return status === 0 ? stdout.split("\0").filter(Boolean).length : 1;
}

function isBelow(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== ".." && !way.startsWith(`..${sep}`);
}

function forbidden(command: string, why: string, next: readonly string[]): HoldfastError {
  return new HoldfastError("E_FORBIDDEN", `\`${command}\` is not for agents here: ${why}`, { next: [...next] });
}
