/** Removes the byte order mark from the start of a text. */

const MARK = "\uFEFF";

/** Editors on Windows write this mark at the start of a file; JSON has no place for it. */
export function withoutByteOrderMark(text: string): string {
  return text.startsWith(MARK) ? text.slice(MARK.length) : text;
}
