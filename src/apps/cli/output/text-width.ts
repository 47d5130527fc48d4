/** Counts the columns that a text takes on a terminal: East Asian letters and emoji take two, combining marks none. */

const PLAIN = /^[\x20-\x7e…]*$/;
const WIDE =
  /\p{Emoji_Presentation}|\ufe0f|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]/u;
const MARK = /^[\p{Mark}\p{Format}]/u;
/** Made when a text needs it: most commands print plain letters only. */
let letters: Intl.Segmenter | undefined;

export function widthOf(text: string): number {
  if (PLAIN.test(text)) return text.length;
  return lettersOf(text).reduce((sum, letter) => sum + widthOfLetter(letter), 0);
}

/** As much of its beginning, or of its end, as fits; no letter is cut in two. */
export function fitting(text: string, room: number, from: "start" | "end" = "start"): string {
  if (widthOf(text) <= room) return text;
  const all = from === "start" ? lettersOf(text) : lettersOf(text).reverse();
  const kept: string[] = [];
  for (let left = room; ; ) {
    const letter = all[kept.length] ?? "";
    left -= widthOfLetter(letter);
    if (left < 0) return (from === "start" ? kept : kept.reverse()).join("");
    kept.push(letter);
  }
}

/** With an ellipsis at the end of what does not fit. */
export function cut(text: string, room: number): string {
  if (widthOf(text) <= room) return text;
  return room <= 0 ? "" : `${fitting(text, room - 1)}…`;
}

function lettersOf(text: string): string[] {
  letters ??= new Intl.Segmenter();
  return Array.from(letters.segment(text), ({ segment }) => segment);
}

function widthOfLetter(letter: string): number {
  return WIDE.test(letter) ? 2 : MARK.test(letter) ? 0 : 1;
}
