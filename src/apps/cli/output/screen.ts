/** Writes text for people: its width, its color, and tables that fit. JSON does not pass through here. */
import { isTerminal, writeError, writeOut } from "./standard-streams.js";

type Style = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";

const CODES: Readonly<Record<Style, readonly [number, number]>> = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
};

/** What follows ESC where `paint` has written it. */
const PAINTED = /^\[(?:1|2|22|3[1236]|39)m/;

/** Whoever wrote a title or a reason must not draw on the terminal of who reads it: what would is shown, as `␛`. */
export function harmless(text: string): string {
  return text.replaceAll(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, (letter, at: number) => {
    const isMeant =
      "\n\t".includes(letter) ||
      (letter === "\r" && text[at + 1] === "\n") ||
      (letter === "\u001b" && PAINTED.test(text.slice(at + 1, at + 5)));
    const code = letter.charCodeAt(0);
    return isMeant ? letter : code < 0x20 ? String.fromCharCode(0x2400 + code) : "\ufffd";
  });
}

export interface Screen {
  readonly width: number;
  readonly isTerminal: boolean;
  readonly json: boolean;
  readonly quiet: boolean;
  paint(style: Style, text: string): string;
  /** A result for people. */
  tell(text: string): void;
  /** One line of a stream: JSON with `--json`, else the text; nothing with `--quiet` alone. */
  stream(data: unknown, text: () => string): void;
  /** Words that are no result: stderr, unless `--quiet` or `--json`. */
  say(text: string): void;
  /** Writes as it is, for screens that are drawn over. */
  write(text: string): void;
}

export interface ScreenFacts {
  readonly json: boolean;
  readonly quiet: boolean;
  readonly noColor: boolean;
  readonly env: NodeJS.ProcessEnv;
}

const NARROWEST = 34;
const WIDEST = 120;
/** Of what is written to a file or a pipe. */
const WIDTH_ELSEWHERE = 120;

export function createScreen({ json, quiet, noColor, env }: ScreenFacts): Screen {
  const onTerminal = isTerminal(1);
  const hasColor = onTerminal && !noColor && !env.NO_COLOR && env.TERM !== "dumb";
  const tell = (text: string): void => writeOut(onTerminal ? harmless(text) : text);
  return {
    tell,
    get width() {
      const columns = onTerminal ? process.stdout.columns || 80 : Number(env.COLUMNS) || WIDTH_ELSEWHERE;
      return Math.min(WIDEST, Math.max(NARROWEST, columns));
    },
    isTerminal: onTerminal,
    json,
    quiet,
    paint: (style, text) => (hasColor ? `\u001b[${CODES[style][0]}m${text}\u001b[${CODES[style][1]}m` : text),
    stream(data, text) {
      if (json) writeOut(`${JSON.stringify(data)}\n`);
      else if (!quiet) tell(`${text()}\n`);
    },
    say(text) {
      if (!json && !quiet) writeError(`${harmless(text)}\n`);
    },
    write: writeOut,
  };
}
