/** The view without a terminal: a line for everything notable, and how things stand every few seconds. */
import type { View } from "./events.js";
import type { Scoreboard } from "./scoreboard.js";
import { seconds } from "./text.js";

const SUMMARY_EVERY_MS = 3_000;

export function openPlain(board: Scoreboard, print: (line: string) => void = console.log): View {
  print(`Holdfast live demo: ${board.rows.size} processes, 2 shared files, ${board.totalMs / 1_000} seconds`);
  const timer = setInterval(
    () => print(`${seconds(board.elapsedMs).padStart(6)}  -- ${board.summary}`),
    SUMMARY_EVERY_MS,
  );
  return {
    note(event) {
      const line = board.note(event);
      if (line !== null) print(`${seconds(line.atMs).padStart(6)}  ${line.text}`);
    },
    close: () => clearInterval(timer),
  };
}
