/**
 * The private nouns that a reader of one acquire met when this list was made, one group a line. A group counts while one of
 * its words is part of an identifier, or a word of a comment, in a file that the acquire calls. A word with `~` is also
 * plain English: only identifiers count. Constants in capitals do not count. A new private noun belongs in this list.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { spansOf } from "./source.mjs";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

const NOUNS = [
  "workplace",
  "~home",
  "~party",
  "~identity",
  "nonce",
  "proof",
  "witness",
  "surroundings",
  "~family",
  "~presented ~shown",
  "~within",
  "~cover",
  "stranger",
  "heirloom ~bid heir ~handed",
  "ticket ~line ~place",
  "profile",
  "tree node ~mark",
  "fence",
  "boot",
  "~settings",
  "step ~manner ~changes",
  "~trust surety heart ~beat",
];

/** Returns the groups that count, for the called files of the source. */
export function measureNouns(files) {
  const inCode = new Set();
  const inComments = new Set();
  for (const file of files) {
    const text = readFileSync(ROOT + file, "utf8");
    for (const { kind, start, end } of spansOf(text)) {
      const into = { code: inCode, comment: inComments }[kind];
      for (const [part] of text.slice(start, end).matchAll(/(?<![A-Z])[A-Z]?[a-z]+/g)) into?.add(part.toLowerCase());
    }
  }
  return NOUNS.filter((group) =>
    group.split(" ").some((word) => {
      const plain = word.replace("~", "");
      const forms = [plain, `${plain}s`, plain.replace(/y$/, "ies")];
      return forms.some((form) => inCode.has(form) || (plain === word && inComments.has(form)));
    }),
  ).map((group) => group.replaceAll("~", ""));
}
