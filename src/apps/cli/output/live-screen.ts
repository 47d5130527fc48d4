/** Draws a picture on the terminal again and again until Ctrl-C, on a screen of its own that disappears at the end. */
import type { Screen } from "./screen.js";

const ENTER = "\u001b[?1049h\u001b[?25l";
const LEAVE = "\u001b[?25h\u001b[?1049l";
const HOME = "\u001b[H";
const REST_OF_LINE = "\u001b[K";
const REST_OF_SCREEN = "\u001b[J";

export interface Picture {
  /** Its lines, none wider than the screen. */
  lines(): Promise<readonly string[]>;
  /** Returns when it is to be drawn anew. */
  untilChange(): Promise<void>;
}

export async function showLive(screen: Screen, signal: AbortSignal, picture: Picture): Promise<void> {
  const draw = async (): Promise<void> => {
    const lines = fitted(await picture.lines());
    screen.write(`${HOME}${lines.map((line) => `${line}${REST_OF_LINE}`).join("\n")}${REST_OF_SCREEN}`);
  };
  const redraw = (): void => void draw().catch(() => undefined);
  screen.write(ENTER);
  process.stdout.on("resize", redraw);
  try {
    while (!signal.aborted) {
      await draw();
      await picture.untilChange();
    }
  } finally {
    process.stdout.off("resize", redraw);
    screen.write(LEAVE);
  }
}

function fitted(lines: readonly string[]): readonly string[] {
  const rows = (process.stdout.rows || 24) - 1;
  return lines.length <= rows ? lines : [...lines.slice(0, rows - 1), `… ${lines.length - rows + 1} more lines`];
}
