/**
 * Lists settings files of agent tools in `.worktreeinclude`, at the top of the repository. Agent tools copy what it lists, and
 * git ignores, into each new worktree; what git tracks is there anyway. `init --agents` and `hook install` add lines between
 * two marks, and `hook install --uninstall` removes those of one agent tool.
 *
 * Not promised: a worktree that was made before, or with `git worktree add`, gets no copy. `doctor hooks` names it.
 */
import { relative, sep } from "node:path";
import { isHoldfastError } from "../../../base/errors.js";
import { repositoryAround } from "../../../client/workspace/repository.js";
import type { AgentClient } from "../call.js";
import { git } from "../git.js";
import type { FilePart } from "./change-plan.js";
import { putBlock, SCRIPT_MARKS, takeBlock } from "./marked-block.js";

const FILE = ".worktreeinclude";

/** Returns the lines for some files below the root, or null where there is no repository of git. */
export function worktreeIncludePart(root: string, client: AgentClient, files: readonly string[]): FilePart | null {
  const repository = repositoryAround(root);
  if (repository === null || repository.commonDir === null) return null;
  const { top } = repository;
  const inTop = (file: string): string => [...relative(top, root).split(sep), file].filter(Boolean).join("/");
  const own = [...new Set(files.map(inTop))];
  return {
    path: `${top}${sep}${FILE}`,
    part: `worktrees of ${client}`,
    put(text) {
      const others = linesIn(takeBlock(text ?? "", SCRIPT_MARKS, "end"));
      const listed = listedIn(text ?? "");
      const tracked = trackedOf(root, files).map(inTop);
      // mutant: worktree-include-tracked: && !tracked.includes(line) →
      const isMissing = (line: string): boolean => ![...others, ...listed].includes(line) && !tracked.includes(line);
      const added = own.filter(isMissing);
      return added.length === 0 ? text : putBlock(text ?? "", SCRIPT_MARKS, [...listed, ...added].join("\n"), "end");
    },
    take(text) {
      const listed = listedIn(text);
      const left = listed.filter((line) => !own.includes(line));
      if (left.length === listed.length) return text;
      if (left.length > 0) return putBlock(text, SCRIPT_MARKS, left.join("\n"), "end");
      return takeBlock(text, SCRIPT_MARKS, "end") || null;
    },
  };
}

/** Returns the lines between the marks. */
function listedIn(text: string): readonly string[] {
  const lines = linesIn(text);
  const [begin, end] = [lines.indexOf(SCRIPT_MARKS.begin), lines.indexOf(SCRIPT_MARKS.end)];
  return begin < 0 ? [] : lines.slice(begin + 1, end).filter(Boolean);
}

function linesIn(text: string): readonly string[] {
  return text.split(/\r?\n/).map((line) => line.trim());
}

/** Git carries these into each worktree. Where it does not answer, a line more does no harm. */
function trackedOf(root: string, files: readonly string[]): readonly string[] {
  try {
    return git(root, "ls-files", "-z", "--", ...files)
      .split("\0")
      .filter(Boolean);
  } catch (error) {
    if (isHoldfastError(error, "E_CONFIG")) return [];
    throw error;
  }
}
