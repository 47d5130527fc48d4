/** Finds the files that a git command writes: those it names, or the whole working tree. */
import { HOME } from "../../../base/home-folder.js";
import { valuesOf } from "./options.js";
import { below, type Word } from "./words.js";

const TREE_VARIABLE = "GIT_WORK_TREE=";
/** Options of git itself that take the next word. */
const TAKES_VALUE = new Set(["-C", "-c", "--git-dir", "--work-tree"]);

function subcommand(texts: readonly string[]): { readonly verb: string; readonly behind: number } {
  let at = 0;
  while (at < texts.length && texts[at]?.startsWith("-")) at += TAKES_VALUE.has(texts[at] ?? "") ? 2 : 1;
  return { verb: texts[at] ?? "", behind: at + 1 };
}

/**
 * Returns the files named by `git rm`, `git mv`, `git restore` and `git checkout … -- FILES`, from where `-C DIR` leads. Git
 * takes names from the top of a working tree that the command names, unless it runs inside of it: then both are returned.
 */
export function restoredByGit(words: readonly Word[]): readonly Word[] {
  const named = namedToGit(words);
  const from = (folders: readonly Word[]): readonly Word[] =>
    folders.reduceRight((files, folder) => files.map((word) => below(folder, word)), named);
  const inFolder = from(foldersOfGit(words));
  return treeNamedToGit(words).length === 0 ? inFolder : [...inFolder, ...from(treeOfGit(words))];
}

/**
 * Returns the folders that lead to the working tree of the command, one from the other: those of `-C`, then the tree that it
 * names. With `--git-dir` alone git takes the folder that it runs in for the top of the tree, so that option leads nowhere.
 */
export function treeOfGit(words: readonly Word[]): readonly Word[] {
  return [...foldersOfGit(words), ...treeNamedToGit(words)];
}

/** Adds to the options of git what assigned variables say. An option on the command line comes later, and prevails. */
export function withGitVariables(assigned: readonly Word[], words: readonly Word[]): readonly Word[] {
  // mutant: hook-git-variable: .startsWith(TREE_VARIABLE)) → .startsWith("none"))
  const trees = assigned.filter(({ text }) => text.startsWith(TREE_VARIABLE)).slice(-1);
  return [
    ...trees.map((word) => ({ ...word, text: `--work-tree=${word.text.slice(TREE_VARIABLE.length)}` })),
    ...words,
  ];
}

function foldersOfGit(words: readonly Word[]): readonly Word[] {
  const before = optionsOfGit(words);
  return before.filter((_, at) => before[at - 1]?.text === "-C");
}

function treeNamedToGit(words: readonly Word[]): readonly Word[] {
  return valuesOf(optionsOfGit(words), null, "work-tree").slice(-1);
}

function optionsOfGit(words: readonly Word[]): readonly Word[] {
  return words.slice(0, subcommand(words.map(({ text }) => text)).behind);
}

function namedToGit(words: readonly Word[]): readonly Word[] {
  const texts = words.map(({ text }) => text);
  const { verb, behind } = subcommand(texts);
  const operands = words.slice(behind);
  const end = operands.findIndex(({ text }) => text === "--");
  if (verb === "checkout") return end < 0 ? [] : operands.slice(end + 1);
  if (!["rm", "mv", "restore"].includes(verb)) return [];
  const isStagedOnly = texts.includes("--staged") && !texts.includes("--worktree");
  if (verb === "restore" && isStagedOnly) return [];
  const named = end >= 0 ? operands.slice(end + 1) : operands.filter(({ text }) => !text.startsWith("-"));
  return named.filter((word) => !["-s", "--source"].includes(operands[operands.indexOf(word) - 1]?.text ?? ""));
}

/** It may change or throw away files that it does not name, other agents' among them. */
export function isOverTheWholeTree(texts: readonly string[]): boolean {
  const { verb, behind } = subcommand(texts);
  const rest = texts.slice(behind);
  switch (verb) {
    case "reset":
      return rest.some((text) => ["--hard", "--merge", "--keep"].includes(text));
    case "clean":
      return (
        rest.some((text) => /^-[a-zA-Z]*f|^--force$/.test(text)) &&
        !rest.some((text) => /^-[a-zA-Z]*n|^--dry-run$/.test(text))
      );
    case "apply":
      return !rest.some((text) => ["--check", "--stat", "--numstat", "--summary", "--cached"].includes(text));
    case "stash":
      return !["list", "show", "drop", "clear", "create", "store", "branch"].includes(rest[0] ?? "push");
    case "checkout":
      return !rest.includes("--") && rest.length > 0 && !isNewBranch(rest);
    case "switch":
      return !isNewBranch(rest);
    case "merge":
    case "rebase":
    case "pull":
    case "cherry-pick":
    case "revert":
    case "am":
      return true;
    default:
      return false;
  }
}

/**
 * Returns what `git clean` and `git stash` do with files that git does not track. Null where they leave them alone, and for
 * every other command.
 */
export function sweptByGit(
  words: readonly Word[],
): { readonly isOfIgnored: boolean; readonly named: readonly Word[] } | null {
  const { verb, behind } = subcommand(words.map(({ text }) => text));
  const rest = words.slice(behind);
  const end = rest.findIndex(({ text }) => text === "--");
  const options = (end < 0 ? rest : rest.slice(0, end)).map(({ text }) => text);
  const has = (letters: string, ...names: readonly string[]): boolean =>
    options.some((text) => names.includes(text) || new RegExp(`^-[a-zA-Z]*[${letters}]`).test(text));
  const isOfIgnored = verb === "clean" ? has("xX") : has("a", "--all");
  if (verb === "clean") {
    const spared = valuesOf(rest, "e", "exclude").map(({ text }) => text);
    const isHomeSpared = !has("X") && spared.some((text) => text.replace(/^\/|\/$/g, "") === HOME);
    const named = rest.filter(({ text }) => !text.startsWith("-") && !spared.includes(text));
    return isHomeSpared ? null : { isOfIgnored, named };
  }
  if (verb !== "stash" || !(isOfIgnored || has("u", "--include-untracked"))) return null;
  return { isOfIgnored, named: end < 0 ? [] : rest.slice(end + 1) };
}

function isNewBranch(rest: readonly string[]): boolean {
  return rest.some((text) => ["-b", "-B", "-c", "-C", "--create", "--orphan"].includes(text)) && rest.length <= 2;
}
