/** Finds the files that `curl` and `wget` write: the name in their options, else the last part of the URL. */
import { valuesOf } from "./options.js";
import { below, HERE, type Word } from "./words.js";

/** Among letters of options that take no value, so that `-XPOST` is none. */
const NAMED_BY_ADDRESS = /^(-[#\dGIJLNRSafgijklnpqsv]*O|--remote-name(-all)?$)/;
/** Whose server, the folders, the last part, what is asked. */
const ADDRESS = /^[a-z]+:\/\/[^/?#]+(?:\/(?:[^?#]*\/)?([^/?#]*))?(\?[^#]*)?/;

export function downloadedByCurl(operands: readonly Word[]): readonly Word[] {
  const isNamedByAddress = operands.some(({ text }) => NAMED_BY_ADDRESS.test(text));
  const named = isNamedByAddress ? operands.flatMap((word) => called(word, (name) => name)) : [];
  const [folder = HERE] = valuesOf(operands, null, "output-dir");
  return [...valuesOf(operands, "o", "output"), ...named].map((word) => below(folder, word));
}

export function downloadedByWget(operands: readonly Word[]): readonly Word[] {
  if (operands.some(({ text }) => /^(-[a-zA-Z]*O|--output-document|--spider$)/.test(text)))
    return valuesOf(operands, "O", "output-document");
  const named = operands.flatMap((word) => called(word, (name, query) => `${name || "index.html"}${query}`));
  const [folder = HERE] = valuesOf(operands, "P", "directory-prefix");
  return named.map((word) => below(folder, word));
}

/** None when the word is no address, or one without a name. */
function called(word: Word, nameOf: (name: string, query: string) => string): readonly Word[] {
  const found = ADDRESS.exec(word.text);
  const text = found === null ? "" : nameOf(found[1] ?? "", found[2] ?? "");
  return text === "" ? [] : [{ ...word, text, isPattern: word.isPattern && /[*[{]/.test(text) }];
}
