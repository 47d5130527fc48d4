/**
 * Keeps git away from the store: lists `.holdfast/` in the repository's `info/exclude`, except for the board, which is
 * meant to be shared. `.holdfast/.gitignore` says the same inside, but `git stash -u` and `git clean` treat that file as any
 * other. A crash leaves the list as it was, or longer by whole lines. A list that cannot be written is not an error.
 */
import { appendFileSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { HOME } from "../../base/home-folder.js";
import { repositoryAround } from "./repository.js";

export function excludeFromGit(root: string): void {
  const repository = repositoryAround(root);
  if (repository?.commonDir === null || repository === null) return;
  const below = relative(repository.top, root).split(sep).filter(Boolean).map(literally).join("/");
  const folder = below === "" ? `/${HOME}` : `/${below}/${HOME}`;
  const path = join(repository.commonDir, "info", "exclude");
  const lines = [`${folder}/*`, `!${folder}/board/`];
  try {
    const text = textAt(path);
    const listed = new Set(text.split(/\r?\n/));
    const missing = lines.filter((line) => !listed.has(line));
    if (missing.length === 0) return;
    mkdirSync(dirname(path), { recursive: true });
    // mutant: git-exclude: appendFileSync(path, → void (
    appendFileSync(path, `${text === "" || text.endsWith("\n") ? "" : "\n"}${missing.join("\n")}\n`);
  } catch {
    // Some sandboxes keep `.git` read-only; `.holdfast/.gitignore` remains.
  }
}

/** Characters that mean something in a pattern of git stand for themselves. */
function literally(name: string): string {
  return name.replace(/[\\*?[\]!# ]/g, "\\$&");
}

function textAt(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw error;
  }
}
