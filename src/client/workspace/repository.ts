/**
 * Reads which repository a folder is the top of, from the files of git, Jujutsu and Mercurial; no program is started. A
 * linked worktree of git is reported with its name and with the folder that it stands for: its main worktree.
 *
 * Answers are kept for a second, because a search asks about the same folders again and again. So a repository or a
 * worktree that was made within the last second may be missed.
 */
import { realpathSync } from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { HoldfastError, ioError, isHoldfastError } from "../../base/errors.js";
import { isAbsence, kindAt, namesIn, textAt } from "../../platform/look-up.js";
import { createShortMemory } from "./short-memory.js";

export interface Repository {
  /** The folder that holds `.git`, `.jj` or `.hg`. */
  readonly top: string;
  readonly isSubmodule: boolean;
  /** The git directory that all worktrees of the repository share; null without git. */
  readonly commonDir: string | null;
  /** Null unless the folder is a linked worktree. */
  readonly linked: LinkedWorktree | null;
}

export interface LinkedWorktree {
  /** Git's own name for it: the name of its folder in `worktrees/`. */
  readonly name: string;
  readonly top: string;
  /** The top of the main worktree; of a bare repository, its own folder. */
  readonly main: string;
}

const memory = createShortMemory<Repository | null>();

/** Makes the next answers those of this moment. */
export function forgetRepositories(): void {
  memory.clear();
}

/** Returns the repository whose top this folder is. Throws `E_CONFIG` for a worktree whose repository is out of reach, `E_IO`. */
function repositoryAt(folder: string): Repository | null {
  return memory.recall(folder, () => readRepository(folder));
}

/** Returns the innermost repository around a folder. */
export function repositoryAround(folder: string): Repository | null {
  for (let at = folder; ; at = dirname(at)) {
    const found = repositoryAt(at);
    if (found !== null || dirname(at) === at) return found;
  }
}

/** Returns the tops of the linked worktrees that git has registered for a repository, by name; those that are gone too. */
export function linkedWorktreesOf(commonDir: string): LinkedWorktree[] {
  const folder = join(commonDir, "worktrees");
  const names = kindAt(folder) === "folder" ? namesIn(folder) : [];
  const main = names.length === 0 ? "" : mainOf(commonDir, folder);
  return names.flatMap((name) => {
    const link = textAt(join(folder, name, "gitdir"));
    if (link === null) return [];
    return [{ name, top: dirname(resolve(join(folder, name), link.trim())), main }];
  });
}

export interface LinkedCopy {
  /** Git's name for the linked worktree. */
  readonly name: string;
  readonly folder: string;
}

/**
 * Returns the folders that stand for a folder of the main worktree in the linked worktrees that are there. None where the git
 * directory does not say which is the main worktree: then no linked worktree finds the way to it.
 */
export function linkedCopiesOf(folder: string): LinkedCopy[] {
  const commonDir = repositoryAround(folder)?.commonDir ?? null;
  if (commonDir === null) return [];
  try {
    return linkedWorktreesOf(commonDir)
      .filter(({ top }) => kindAt(top) === "folder")
      .map(({ name, top, main }) => ({ name, folder: join(top, relative(main, folder)) }));
  } catch (error) {
    if (isHoldfastError(error, "E_CONFIG")) return [];
    throw error;
  }
}

function readRepository(folder: string): Repository | null {
  const git = join(folder, ".git");
  switch (kindAt(git)) {
    case "folder":
      if (kindAt(join(git, "HEAD")) === null) break;
      return { top: folder, isSubmodule: false, commonDir: git, linked: null };
    case "file":
      return repositoryBehind(folder, git);
    default:
  }
  const jujutsu = kindAt(join(folder, ".jj"));
  // mutant: second-jujutsu: kindAt(join(folder, ".jj", "repo")) === "file") → folder === "")
  if (jujutsu === "folder" && kindAt(join(folder, ".jj", "repo")) === "file")
    throw outOfReach(
      folder,
      "is a secondary workspace of a Jujutsu repository, and Holdfast cannot tell which is the first",
    );
  const isOther = jujutsu === "folder" || kindAt(join(folder, ".hg")) === "folder";
  return isOther ? { top: folder, isSubmodule: false, commonDir: null, linked: null } : null;
}

/** Follows the file `.git`, which a linked worktree, a submodule and a repository with a git directory elsewhere have. */
function repositoryBehind(folder: string, file: string): Repository | null {
  const [, link] = /^gitdir: (.+?)\s*$/.exec(textAt(file) ?? "") ?? [];
  if (link === undefined) return null;
  const gitDir = resolve(folder, link);
  // mutant: link-to-nowhere: if (kindAt(gitDir) !== "folder") throw outOfReach(folder, `belongs to ${gitDir}, which is not there`); → if (kindAt(gitDir) !== "folder") return null;
  if (kindAt(gitDir) !== "folder") throw outOfReach(folder, `belongs to ${gitDir}, which is not there`);
  const shared = textAt(join(gitDir, "commondir"));
  if (shared === null)
    return { top: folder, isSubmodule: isOfSuperproject(folder, gitDir), commonDir: gitDir, linked: null };
  const commonDir = resolve(gitDir, shared.trim());
  const linked = { name: basename(gitDir), top: folder, main: mainOf(commonDir, folder) };
  return { top: folder, isSubmodule: false, commonDir, linked };
}

/** Git keeps the git directory of a submodule below the one of the repository around it, in a folder `modules`. */
function isOfSuperproject(folder: string, gitDir: string): boolean {
  if (!gitDir.split(sep).includes("modules") || dirname(folder) === folder) return false;
  const around = repositoryAround(dirname(folder))?.commonDir ?? null;
  // mutant: submodule-by-name: return around !== null && → return around !== "" ||
  return around !== null && realFolder(gitDir).startsWith(realFolder(around) + sep);
}

/** Returns the main worktree of a repository. A sparse checkout moves these settings to `config.worktree`. */
function mainOf(commonDir: string, worktree: string): string {
  // mutant: main-worktree-config: ["config.worktree", "config"] → ["config"]
  const configs = ["config.worktree", "config"].map((name) => textAt(join(commonDir, name)) ?? "");
  const setting = (name: string): string | null =>
    configs.reduce<string | null>((found, config) => found ?? settingIn(config, name), null);
  const elsewhere = setting("worktree");
  if (elsewhere !== null) return realFolder(resolve(commonDir, elsewhere));
  if (setting("bare") === "true") return realFolder(commonDir);
  // mutant: main-behind-link: return realFolder(dirname(commonDir)); → return dirname(commonDir);
  if (basename(commonDir) === ".git") return realFolder(dirname(commonDir));
  // mutant: separate-git-dir: throw outOfReach( → if (worktree !== "") return dirname(commonDir); throw outOfReach(
  throw outOfReach(
    worktree,
    `belongs to the separate git directory ${commonDir}, which does not say where its main worktree is`,
  );
}

/** Reads a setting of the section `core` as git writes it. */
function settingIn(config: string, name: string): string | null {
  const [, core = ""] = /^\[core\]\s*$([^[]*)/im.exec(config) ?? [];
  // No two parts of the pattern match the same blanks, so a long line of them takes linear time.
  const [, value] = new RegExp(`^[ \\t]*${name}[ \\t]*=(.*)$`, "im").exec(core) ?? [];
  return value?.trim() ?? null;
}

/** Returns the folder of the main worktree that a folder of a linked worktree stands for. */
export function inMainWorktree({ top, main }: LinkedWorktree, folder: string): string {
  return join(main, relative(top, folder));
}

/** Git may have written a path through a link. */
function realFolder(path: string): string {
  try {
    return realpathSync.native(path);
  } catch (error) {
    if (isAbsence(error)) return path;
    throw ioError(error, "resolve", path);
  }
}

function outOfReach(folder: string, why: string): HoldfastError {
  return new HoldfastError("E_CONFIG", `${folder} ${why}`, {
    reason: "no_main_worktree",
    details: { path: folder },
    next: ["Set HOLDFAST_ROOT to the workspace, or give --root."],
  });
}
