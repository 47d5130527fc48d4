/**
 * Which files a shell command writes, where its words tell: redirections, and the commands below. A command that hides
 * them (a variable, a script, an interpreter) is let through: the shell is not a fence, and docs/agents.md says so.
 */
import { readdirSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import type { Intent } from "../call.js";
import { patchFiles } from "../patch-files.js";
import { isOverTheWholeTree, restoredByGit } from "./git-commands.js";
import { isForPeople } from "./holdfast-commands.js";
import { type SimpleCommand, simpleCommands, type Word } from "./words.js";

/** Words in front of a command that change nothing about what it writes. */
const PREFIXES = new Set(
  "sudo env command nohup time timeout exec nice stdbuf if elif while until then do else ! {".split(" "),
);
/** `timeout 30s`, `nice -n 5`. */
const AMOUNT = /^\d[\d.]*[smhd]?$/;
const SHELLS = new Set(["sh", "bash", "dash", "zsh"]);
const MOVES = new Set(["cd", "pushd", "popd"]);
const NOT_FILES = /^\/dev\/(null|stdout|stderr|tty|fd\/.*)$/;
const TARGET_FLAG = "--target-directory=";
/** `bash -c "bash -c …"` ends somewhere. */
const DEEPEST = 4;

export function shellIntent(line: string, cwd: string, depth = 0): Intent {
  const [files, somewhereIn, removed] = [new Set<string>(), new Set<string>(), new Set<string>()];
  let wholeTree: string | null = null;
  let notForAgents: string | null = null;
  /** By how many subshells deep. */
  const folders: (string | null)[] = [cwd];
  /** What `popd` goes back to. */
  const pushed: (string | null)[] = [];
  for (const command of simpleCommands(line)) {
    const words = withoutPrefixes(command.words);
    const name = basename(words[0]?.text ?? "");
    const operands = words.slice(1);
    folders.length = Math.min(folders.length, command.depth + 1);
    while (folders.length <= command.depth) folders.push(folders.at(-1) ?? null);
    if (MOVES.has(name)) folders.push(folderAfter(name, operands[0], folders.pop() ?? null, pushed));
    const folder = folders.at(-1) ?? null;
    const takenAway = takenAwayBy(name, operands);
    for (const word of [...command.written, ...writtenBy(name, operands, command)]) {
      const { paths, isCoarse } = filesOf(word, folder);
      for (const path of paths) {
        files.add(path);
        if (isCoarse || name === "git") somewhereIn.add(path);
        else if (takenAway.includes(word)) removed.add(path);
      }
    }
    const inner = depth < DEEPEST ? innerLine(name, operands) : null;
    if (inner !== null) {
      const told = shellIntent(inner, folder ?? cwd, depth + 1);
      for (const file of told.files) files.add(file);
      for (const folder of told.somewhereIn) somewhereIn.add(folder);
      for (const path of told.removed) removed.add(path);
      wholeTree ??= told.wholeTree;
      notForAgents ??= told.notForAgents;
    }
    const texts = operands.map(({ text }) => text);
    if (name === "git" && isOverTheWholeTree(texts)) wholeTree ??= `git ${texts.join(" ")}`;
    if (isForPeople(name, texts)) notForAgents ??= words.map(({ text }) => text).join(" ");
  }
  return { files: [...files], somewhereIn: [...somewhereIn], removed: [...removed], wholeTree, notForAgents };
}

function withoutPrefixes(words: readonly Word[]): readonly Word[] {
  let at = 0;
  while (at < words.length) {
    const text = words[at]?.text ?? "";
    const isFlagOfPrefix = at > 0 && (text.startsWith("-") || AMOUNT.test(text));
    if (!PREFIXES.has(text) && !isFlagOfPrefix && !/^[A-Za-z_]\w*=/.test(text)) break;
    at++;
  }
  return words.slice(at);
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
  return folder === null ? null : resolve(folder, text);
}

function plainOf(operands: readonly Word[]): readonly Word[] {
  return operands.filter(({ text }) => !text.startsWith("-") || text === "-");
}

/** Of what it writes, that of which nothing stays where it was. */
function takenAwayBy(name: string, operands: readonly Word[]): readonly Word[] {
  const plain = plainOf(operands);
  if (name === "rm") return plain;
  const target = targetOf(operands, plain);
  if (name === "mv") return plain.filter((word) => !target.includes(word));
  return name === "rsync" && operands.some(({ text }) => text.startsWith("--del")) ? target : [];
}

function writtenBy(name: string, operands: readonly Word[], { document }: SimpleCommand): readonly Word[] {
  const plain = plainOf(operands);
  switch (name) {
    case "tee":
    case "touch":
    case "rm":
    case "rmdir":
    case "unlink":
    case "shred":
      return plain;
    case "mv":
      return [...new Set([...plain, ...targetOf(operands, plain)])];
    case "truncate":
      return plain.filter(
        (_, at) => !["-s", "-r"].includes(operands[operands.indexOf(plain[at] as Word) - 1]?.text ?? ""),
      );
    case "cp":
    case "ln":
    case "install":
    case "rsync":
      return targetOf(operands, plain);
    case "sed":
    case "perl":
      return editedInPlace(name, operands, plain);
    case "dd":
      return operands
        .filter(({ text }) => text.startsWith("of="))
        .map((word) => ({ ...word, text: word.text.slice(3) }));
    case "git":
      return restoredByGit(operands);
    case "apply_patch":
    case "applypatch":
      return patchWords(document ?? operands[0]?.text ?? "");
    default:
      return [];
  }
}

function targetOf(operands: readonly Word[], plain: readonly Word[]): readonly Word[] {
  const at = operands.findIndex(({ text }) => text === "-t");
  const told = operands.find(({ text }) => text.startsWith(TARGET_FLAG));
  if (at < 0 && told !== undefined) return [{ ...told, text: told.text.slice(TARGET_FLAG.length) }];
  const target = at >= 0 ? operands[at + 1] : plain.length > 1 ? plain.at(-1) : undefined;
  return target === undefined ? [] : [target];
}

function editedInPlace(name: string, operands: readonly Word[], plain: readonly Word[]): readonly Word[] {
  const isInPlace = operands.some(({ text }) => /^-[a-zA-Z]*i/.test(text) || text.startsWith("--in-place"));
  if (!isInPlace) return [];
  const flags = name === "sed" ? ["-e", "-f", "--expression", "--file"] : ["-e", "-E", "-M", "-I"];
  const scripts = operands.filter((_, at) => isScriptFlag(operands[at - 1]?.text, flags));
  const files = plain.filter((word) => !scripts.includes(word) && word.text !== "");
  const hasScript = scripts.length > 0 || operands.some(({ text }) => /^--(expression|file)=/.test(text));
  return hasScript ? files : files.slice(1);
}

function isScriptFlag(text: string | undefined, flags: readonly string[]): boolean {
  return text !== undefined && (flags.includes(text) || (/^-[a-zA-Z]*[eE]$/.test(text) && !text.startsWith("--")));
}

function patchWords(text: string): Word[] {
  if (!text.includes("*** Begin Patch")) return [];
  return patchFiles(text).map((file) => ({ text: file, isPattern: false, isUnknown: false }));
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
  if (/[[{]/.test(basename(path))) return { paths: [folder], isCoarse: true };
  const source = basename(path)
    .replace(/[.+^$()|\\]/g, "\\$&")
    .replaceAll("*", ".*")
    .replaceAll("?", ".");
  try {
    const names = readdirSync(folder).filter(
      (name) => (source.startsWith("\\.") || !name.startsWith(".")) && new RegExp(`^${source}$`).test(name),
    );
    return { paths: names.map((name) => join(folder, name)), isCoarse: false };
  } catch {
    return { paths: [folder], isCoarse: true };
  }
}

function atHome(text: string): string {
  return text === "~" || text.startsWith("~/") ? join(homedir(), text.slice(1)) : text;
}
