/** The view without a terminal: a line for everything notable, and how things stand every few seconds. */
import { seconds } from "./text.mjs";

const SUMMARY_EVERY_MS = 3_000;

export function openPlain(board, print = console.log) {
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
