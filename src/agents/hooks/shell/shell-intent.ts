/**
 * Finds the files that a shell command writes, where its words show them: in redirections, and in the arguments of
 * known commands. A command that hides them (a variable, a script, an interpreter) is let through: this is not a fence,
 * and docs/agents.md says so.
 */
import { readdirSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import type { Intent, Sweep, WholeTree } from "../call.js";
import { takenAwayBy, writtenBy } from "./file-commands.js";
import { isOverTheWholeTree, sweptByGit, treeOfGit, withGitVariables } from "./git-commands.js";
import { parseGlob } from "./glob.js";
import { isForPeople } from "./holdfast-commands.js";
import { withoutPrefixes } from "./prefixes.js";
import { takenAwayWhole, writtenBelow } from "./tree-commands.js";
import { simpleCommands, type Word } from "./words.js";

const SHELLS = new Set(["sh", "bash", "dash", "zsh"]);
const MOVES = new Set(["cd", "pushd", "popd"]);
const NOT_FILES = /^\/dev\/(null|stdout|stderr|tty|fd\/.*)$/;
/** `bash -c "bash -c …"` ends somewhere. */
const DEEPEST = 4;

/** `PATH_MAX`. */
const LONGEST_PATH = 4_096;

/** `cwd` is null when nobody can tell. */
export function shellIntent(line: string, cwd: string | null, depth = 0): Intent {
  const [files, somewhereIn, removed] = [new Set<string>(), new Set<string>(), new Set<string>()];
  const wholeTrees: WholeTree[] = [];
  let notForAgents: string | null = null;
  /** By how many subshells deep. */
  const folders: (string | null)[] = [cwd];
  /** Variables that later commands of the line get. */
  const exported: Word[] = [];
  /** What `popd` goes back to. */
  const pushed: (string | null)[] = [];
  for (const command of simpleCommands(line)) {
    const { words, folders: leads, assigned } = withoutPrefixes(command.words);
    const name = basename(words[0]?.text ?? "");
    const operands = name === "git" ? withGitVariables([...exported, ...assigned], words.slice(1)) : words.slice(1);
    if (name === "export") exported.push(...operands);
    folders.length = Math.min(folders.length, command.depth + 1);
    while (folders.length <= command.depth) folders.push(folders.at(-1) ?? null);
    if (MOVES.has(name)) folders.push(folderAfter(name, operands[0], folders.pop() ?? null, pushed));
    const around = folders.at(-1) ?? null;
    const folder = leads.reduce(movedTo, around);
    const below = writtenBelow(name, operands);
    // mutant: hook-find-all: ), ...takenAwayWhole(name, operands)] → ), ...takenAwayWhole("", operands)]
    const takenAway = [...takenAwayBy(name, operands), ...takenAwayWhole(name, operands)];
    for (const word of [...command.written, ...writtenBy(name, operands, command.document), ...below]) {
      const { paths, isCoarse } = filesOf(word, command.written.includes(word) ? around : folder);
      for (const path of paths) {
        files.add(path);
        if (!isCoarse && takenAway.includes(word)) removed.add(path);
        else if (isCoarse || name === "git" || below.includes(word)) somewhereIn.add(path);
      }
    }
    const inner = depth < DEEPEST ? innerLine(name, operands) : null;
    if (inner !== null) {
      const told = shellIntent(inner, folder, depth + 1);
      for (const file of told.files) files.add(file);
      for (const folder of told.somewhereIn) somewhereIn.add(folder);
      for (const path of told.removed) removed.add(path);
      wholeTrees.push(...told.wholeTrees);
      notForAgents ??= told.notForAgents;
    }
    const texts = words.slice(1).map(({ text }) => text);
    if (name === "git" && isOverTheWholeTree(texts)) {
      const leads = treeOfGit(operands).reduce(movedTo, folder);
      wholeTrees.push({ command: `git ${texts.join(" ")}`, folder: leads, sweeps: sweepOf(operands, leads) });
    }
    if (isForPeople(name, texts)) notForAgents ??= words.map(({ text }) => text).join(" ");
  }
  return { files: [...files], somewhereIn: [...somewhereIn], removed: [...removed], wholeTrees, notForAgents };
}

function sweepOf(operands: readonly Word[], folder: string | null): Sweep | null {
  const swept = sweptByGit(operands);
  if (swept === null) return null;
  const named = swept.named.map((word) => filesOf(word, folder).paths);
  const isUnclear = named.some((paths) => paths.length === 0);
  return { isOfIgnored: swept.isOfIgnored, below: isUnclear ? null : named.flat() };
}

function innerLine(name: string, operands: readonly Word[]): string | null {
  if (name === "eval") return operands.map(({ text }) => text).join(" ");
  if (!SHELLS.has(name)) return null;
  const at = operands.findIndex(({ text }) => /^-[a-z]*c$/.test(text));
  return at < 0 ? null : (operands[at + 1]?.text ?? null);
}

function folderAfter(
  name: string,
  word: Word | undefined,
  folder: string | null,
  pushed: (string | null)[],
): string | null {
  if (name === "popd") return pushed.pop() ?? null;
  if (name === "pushd") pushed.push(folder);
  return movedTo(folder, word);
}

/** Null: nobody can tell where we are now. */
function movedTo(folder: string | null, word: Word | undefined): string | null {
  if (word === undefined || word.isUnknown || word.isPattern || word.text === "-") return null;
  const text = atHome(word.text);
  if (isAbsolute(text)) return text;
  const path = folder === null ? null : resolve(folder, text);
  // A line of many `cd x` would take time that grows with its square.
  return path !== null && path.length > LONGEST_PATH ? null : path;
}

/** Coarse: the folder somewhere in which they are. */
interface NamedFiles {
  readonly paths: readonly string[];
  readonly isCoarse: boolean;
}

const NONE: NamedFiles = { paths: [], isCoarse: false };

function filesOf({ text, isPattern, isUnknown }: Word, folder: string | null): NamedFiles {
  if (isUnknown || text === "" || text === "-" || NOT_FILES.test(text)) return NONE;
  const named = atHome(text);
  if (folder === null && !isAbsolute(named)) return NONE;
  const path = isAbsolute(named) ? named : join(folder ?? "", named);
  return isPattern ? matching(path) : { paths: [path], isCoarse: false };
}

/** What a pattern in the last part of a path names now, hidden files only when it says so; with one further up, the folder before it: coarser, never less. */
function matching(path: string): NamedFiles {
  const folder = dirname(path);
  if (/[*?[{]/.test(folder)) return { paths: [folder.slice(0, folder.search(/\/[^/]*[*?[{]/)) || "/"], isCoarse: true };
  const pattern = basename(path);
  if (pattern.includes("{")) return { paths: [folder], isCoarse: true };
  const glob = parseGlob(pattern);
  try {
    const names = readdirSync(folder).filter(
      (name) => (pattern.startsWith(".") || !name.startsWith(".")) && glob.matches(name),
    );
    return { paths: names.map((name) => join(folder, name)), isCoarse: false };
  } catch {
    return { paths: [folder], isCoarse: true };
  }
}

function atHome(text: string): string {
  return text === "~" || text.startsWith("~/") ? join(homedir(), text.slice(1)) : text;
}
