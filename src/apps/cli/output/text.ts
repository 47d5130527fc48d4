/** Formats text for people: paragraphs and columns that fit. */

/** Breaks at spaces; lines after the first are indented by `hang`, all by `indent`. */
export function wrap(text: string, width: number, hang: number, indent = 0): string {
  return wrapWords(text.split(" "), width, hang, indent);
}

/** The same for words that may have spaces in them, at which only what is longer than a line is broken. */
export function wrapWords(words: readonly string[], width: number, hang: number, indent = 0): string {
  const lines: string[] = [];
  let line = " ".repeat(indent);
  let isEmpty = true;
  const room = width - indent - hang;
  for (const word of words.flatMap((each) => (each.length > room ? each.split(" ") : [each]))) {
    if (!isEmpty && line.length + 1 + word.length > width) {
      lines.push(line);
      line = " ".repeat(indent + hang);
      isEmpty = true;
    }
    line += isEmpty ? word : ` ${word}`;
    isEmpty = false;
  }
  return [...lines, line].join("\n");
}

/** Names and what they mean, side by side where there is room, else below each other. */
export function columns(rows: readonly (readonly [string, string])[], width: number): string {
  const first = Math.max(...rows.map(([name]) => name.length)) + 4;
  const isNarrow = first > width / 2;
  return rows
    .map(([name, meaning]) =>
      isNarrow
        ? `  ${name}\n${wrap(meaning, width, 0, 6)}`
        : `  ${name.padEnd(first - 2)}${wrap(meaning, width, 0, first).trimStart()}`,
    )
    .join("\n");
}
