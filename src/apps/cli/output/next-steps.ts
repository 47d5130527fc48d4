/**
 * Converts the next steps of an error to commands: the library names calls, but a person at a prompt needs something to
 * type.
 */

import { ERRORS, type HoldfastError } from "../../../base/errors.js";
import { shellWord } from "../../../base/shell-word.js";
import { withoutPassword } from "../../../base/without-password.js";
import { ownSteps } from "../locks/own-grant.js";

const WAIT_LONGER = "2m";
/** For the end of work: ten minutes are what one waits for it anyway. */
const MUCH_LONGER = "1h";
const AROUND = ["--root", "--store", "--owner"] as const;
/** Commands that only look, and the one that is for a person when an agent was refused: who acts does not matter, or is another. */
const ANYBODYS = /^holdfast (explain|history|\S+ (status|list|show|wait|break))\b/;

/** A step that leaves out the workspace, store or owner that was typed would be about another one. */
export function nextSteps(error: HoldfastError, command: string, words: readonly string[]): readonly string[] {
  const typed = typedAround(words);
  return steps(error, command, words).map((step) => {
    if (!step.startsWith("holdfast ") || step.endsWith(" --help")) return step;
    const missing = typed.filter(
      ([flag]) => !step.includes(` ${flag}`) && !(flag === "--owner" && ANYBODYS.test(step)),
    );
    return ["holdfast", ...missing.flat().map(shellWord), step.slice("holdfast ".length)].join(" ");
  });
}

function steps(error: HoldfastError, command: string, words: readonly string[]): readonly string[] {
  // A folder is no key, and its errors know the commands.
  if (command.startsWith("deliverable ") && error.code !== "E_INVALID_ARGUMENT") return error.next;
  const named = keyOf(error);
  const key = named ?? "KEY";
  switch (error.code) {
    case "E_LOCK_CONFLICT":
    case "E_LOCK_TIMEOUT":
      if (named === null && error.details.waited_ms !== undefined)
        return [`holdfast ${again(words, MUCH_LONGER)}`, ...error.next];
      if (named === null || namesCommands(error)) return error.next;
      return contended(error, command, words, key);
    case "E_LOCK_EXPIRED":
      return namesCommands(error)
        ? error.next
        : [`holdfast lock acquire ${key}`, "Then read again what you were about to change."];
    case "E_LOCK_NOT_HELD":
      return namesCommands(error) ? error.next : [`holdfast lock status ${key}`, `holdfast lock acquire ${key}`];
    case "E_FENCING_MISMATCH":
      return error.next.some((step) => step.includes("--after-restore"))
        ? error.next
        : ["Stop writing: another holder has taken over.", `holdfast explain ${key}`];
    case "E_INVALID_ARGUMENT":
      if (Array.isArray(error.details.fencing_tokens) && command.startsWith("lock "))
        return error.details.fencing_tokens.map((fence) => `holdfast ${command} ${key} --fence ${fence}`);
      return namesCommands(error)
        ? error.next
        : [...keyOfFile(error, words), `holdfast ${command} --help`.replace("  ", " ")];
    case "E_NOT_FOUND":
      return command === "lock break" ? ["holdfast lock list"] : error.next;
    case "E_IO":
      return typeof error.details.path === "string" && error.next[0] === ERRORS.E_IO.next
        ? [`Look at its permissions, and at the room on its disk: df ${shellWord(error.details.path)}`]
        : error.next;
    default:
      return error.next;
  }
}

function contended(
  { details }: HoldfastError,
  command: string,
  words: readonly string[],
  key: string,
): readonly string[] {
  const steps = [...(takesWait(command) ? [`holdfast ${again(words)}`] : []), `holdfast explain ${key}`];
  return typeof details.yours === "string" ? ownSteps(details.yours, steps) : steps;
}

function namesCommands({ next }: HoldfastError): boolean {
  return next.some((step) => step.startsWith("holdfast "));
}

/** Who writes a path where a key belongs means the lock of that file. */
function keyOfFile({ details }: HoldfastError, words: readonly string[]): readonly string[] {
  const isAboutKey = typeof details.field === "string" && /^keys?\b/.test(details.field);
  const isPath = words.some((word) => /^(\/|\.\.?(\/|$))/.test(word));
  return isAboutKey && isPath
    ? ["The key of a file is path/ and its path below the workspace, such as path/src/api."]
    : [];
}

function takesWait(command: string): boolean {
  return ["lock acquire", "lock upgrade", "lock wait", "run", "issue claim"].includes(command);
}

function keyOf({ details }: HoldfastError): string | null {
  const contention = details.contention as { resource?: string } | undefined;
  const resource = contention?.resource ?? details.resource;
  return typeof resource === "string" ? resource : null;
}

/** The flags of every command that say where and who, with their values. */
function typedAround(words: readonly string[]): readonly (readonly [flag: string, value: string])[] {
  const before = words.includes("--") ? words.slice(0, words.indexOf("--")) : words;
  return AROUND.flatMap((flag) => {
    const at = before.findIndex((word) => word === flag || word.startsWith(`${flag}=`));
    const word = before[at];
    const value = word === flag ? before[at + 1] : word?.slice(flag.length + 1);
    return value === undefined ? [] : [[flag, withoutPassword(value)] as const];
  });
}

/** The same command with a longer wait. */
function again(words: readonly string[], wait = WAIT_LONGER): string {
  const end = words.includes("--") ? words.indexOf("--") : words.length;
  const kept: string[] = [];
  for (let at = 0; at < end; at++) {
    const word = shown(words[at] ?? "");
    if (word === "--wait") at++;
    else if (!word.startsWith("--wait=") && word !== "--json") kept.push(word);
  }
  return [...kept, "--wait", wait, ...words.slice(end)].map(shellWord).join(" ");
}

function shown(word: string): string {
  const [, flag = "", value = word] = /^(--[a-z-]+=)(.*)$/s.exec(word) ?? [];
  return flag + withoutPassword(value);
}
