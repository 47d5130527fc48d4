/**
 * Lists the shell commands that name the files they write, such as `cp`, `rm` and `tee`, and finds these files in their
 * arguments.
 */
import { patchFiles } from "../patch-files.js";
import { downloadedByCurl, downloadedByWget } from "./downloads.js";
import { restoredByGit } from "./git-commands.js";
import { filesToldPatch } from "./patch-command.js";
import type { Word } from "./words.js";

const TARGET_FLAG = "--target-directory=";

/** `document`: what a here document gives it. */
export function writtenBy(name: string, operands: readonly Word[], document: string | null): readonly Word[] {
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
    case "curl":
      return downloadedByCurl(operands);
    case "wget":
      return downloadedByWget(operands);
    case "patch":
      return filesToldPatch(operands);
    case "git":
      return restoredByGit(operands);
    case "apply_patch":
    case "applypatch":
      return patchWords(document ?? operands[0]?.text ?? "");
    default:
      return [];
  }
}

/** Of what it writes, that of which nothing stays where it was. */
export function takenAwayBy(name: string, operands: readonly Word[]): readonly Word[] {
  const plain = plainOf(operands);
  if (name === "rm") return plain;
  const target = targetOf(operands, plain);
  if (name === "mv") return plain.filter((word) => !target.includes(word));
  return name === "rsync" && operands.some(({ text }) => text.startsWith("--del")) ? target : [];
}

function plainOf(operands: readonly Word[]): readonly Word[] {
  return operands.filter(({ text }) => !text.startsWith("-") || text === "-");
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
