/**
 * Strips prefixes such as `sudo`, `env` and `timeout` from a command. They do not change what the command writes, but
 * may change the folder in which it runs.
 */
import { basename } from "node:path";
import { takingNext, valuesOf } from "./options.js";
import type { Word } from "./words.js";

/** With those of their options that take the next word. */
const PREFIXES: ReadonlyMap<string, RegExp | null> = new Map([
  ["sudo", takingNext("CDTUghprtu", ["user", "group", "host", "prompt", "chdir"])],
  ["env", takingNext("Cu", ["unset", "chdir"])],
  ["timeout", takingNext("ks", ["kill-after", "signal"])],
  ["nice", takingNext("n", ["adjustment"])],
  ["stdbuf", takingNext("ieo", ["input", "error", "output"])],
  ["exec", takingNext("a")],
  ...["command", "nohup", "time", "if", "elif", "while", "until", "then", "do", "else", "!", "{"].map(
    (word) => [word, null] as const,
  ),
]);
/** `timeout 30s`, `nice 5`. */
const AMOUNT = /^\d[\d.]*[smhd]?$/;
const ASSIGNMENT = /^[A-Za-z_]\w*=/;

/** The letter of the option that leads to another folder; its name is `--chdir`. */
const LEADS: ReadonlyMap<string, string> = new Map([
  ["sudo", "D"],
  ["env", "C"],
]);

export interface Bare {
  readonly words: readonly Word[];
  /** Where the prefixes lead it, one after the other. */
  readonly folders: readonly Word[];
  /** The variables that are set for the command, as `NAME=VALUE`. */
  readonly assigned: readonly Word[];
}

export function withoutPrefixes(words: readonly Word[]): Bare {
  const folders: Word[] = [];
  let options: RegExp | null = null;
  let [prefix, from, at] = ["", 0, 0];
  const leave = (): void => {
    const letter = LEADS.get(prefix);
    if (letter !== undefined) folders.push(...valuesOf(words.slice(from, at), letter, "chdir").slice(-1));
  };
  for (; at < words.length; at++) {
    const text = words[at]?.text ?? "";
    const ofPrefix = PREFIXES.get(basename(text));
    if (ofPrefix !== undefined) {
      leave();
      [options, prefix, from] = [ofPrefix, basename(text), at];
    } else if (options?.test(text)) at++;
    else if (!isOfPrefix(text, at) && !ASSIGNMENT.test(text)) break;
  }
  leave();
  return { words: words.slice(at), folders, assigned: words.slice(0, at).filter(({ text }) => ASSIGNMENT.test(text)) };
}

function isOfPrefix(text: string, at: number): boolean {
  return at > 0 && (text.startsWith("-") || AMOUNT.test(text));
}
