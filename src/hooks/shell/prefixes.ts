/** Words in front of a command that change nothing about what it writes. */
import { basename } from "node:path";
import { takingNext } from "./options.js";
import type { Word } from "./words.js";

/** With those of their options that take the next word. One that leads to another folder is not among them. */
const PREFIXES: ReadonlyMap<string, RegExp | null> = new Map([
  ["sudo", takingNext("CTUghprtu", ["user", "group", "host", "prompt"])],
  ["env", takingNext("u", ["unset"])],
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

export function withoutPrefixes(words: readonly Word[]): readonly Word[] {
  let options: RegExp | null = null;
  for (let at = 0; at < words.length; at++) {
    const text = words[at]?.text ?? "";
    const prefix = PREFIXES.get(basename(text));
    if (prefix !== undefined) options = prefix;
    else if (options?.test(text)) at++;
    else if (!isOfPrefix(text, at) && !ASSIGNMENT.test(text)) return words.slice(at);
  }
  return [];
}

function isOfPrefix(text: string, at: number): boolean {
  return at > 0 && (text.startsWith("-") || AMOUNT.test(text));
}
