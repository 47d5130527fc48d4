/** Text that fits: nothing here is ever wider than it was told to be. Widths count characters before colour. */
import { styleText } from "node:util";

/** Colour only on a terminal that has it and wants it: `hasColors` looks at `TERM` and `NO_COLOR`. */
const isColoured = process.stdout.isTTY === true && process.stdout.hasColors();

export function styled(style, text) {
  return isColoured ? styleText(style, text) : text;
}

/** Exactly `width` characters: padded, or cut with an ellipsis. */
export function fitted(text, width, align = "left") {
  if (width <= 0) return "";
  const short = text.length > width ? `${text.slice(0, width - 1)}…` : text;
  return align === "left" ? short.padEnd(width) : short.padStart(width);
}

/** Lines of at most `width` characters, broken between words where possible. */
export function wrap(text, width) {
  const lines = [];
  let line = "";
  for (const word of text.split(" ").flatMap((each) => chop(each, width))) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return line === "" ? lines : [...lines, line];
}

function chop(word, width) {
  const size = Math.max(1, width);
  const parts = Math.max(1, Math.ceil(word.length / size));
  return Array.from({ length: parts }, (_, at) => word.slice(at * size, (at + 1) * size));
}

export function seconds(ms) {
  return `${(ms / 1_000).toFixed(1)}s`;
}
