/**
 * Puts lines of Holdfast into a text file of another program, between two marks, so that they can be found, changed and
 * removed.
 */

export interface Marks {
  readonly begin: string;
  readonly end: string;
}

export const SCRIPT_MARKS: Marks = { begin: "# >>> holdfast", end: "# <<< holdfast" };
export const PAGE_MARKS: Marks = { begin: "<!-- holdfast:begin -->", end: "<!-- holdfast:end -->" };

/** Where the block is already; else behind the first line, or at the end behind an empty line. */
export function putBlock(text: string, marks: Marks, body: string, place: "second" | "end"): string {
  const block = `${marks.begin}\n${body}\n${marks.end}\n`;
  const [start, stop] = [text.indexOf(marks.begin), text.indexOf(marks.end)];
  if (start >= 0 && stop > start) return text.slice(0, start) + block.trimEnd() + text.slice(stop + marks.end.length);
  if (place === "end") {
    const gap = text === "" ? "" : text.endsWith("\n\n") ? "" : text.endsWith("\n") ? "\n" : "\n\n";
    return text + gap + block;
  }
  const at = text.indexOf("\n") + 1;
  return at === 0 ? `${text}\n${block}` : text.slice(0, at) + block + text.slice(at);
}

/** Without the block and the empty line in front of it; the same text when there is none. */
export function takeBlock(text: string, marks: Marks, place: "second" | "end"): string {
  const start = text.indexOf(marks.begin);
  const stop = text.indexOf(marks.end, start);
  if (start < 0 || stop < 0) return text;
  const behind = text.slice(stop + marks.end.length).replace(/^\r?\n/, "");
  const before = text.slice(0, start);
  return (place === "end" && before.endsWith("\n\n") ? before.slice(0, -1) : before) + behind;
}
