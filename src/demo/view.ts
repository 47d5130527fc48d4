/** Which view fits where the output goes. */
import type { View } from "./events.js";
import { openPlain } from "./plain.js";
import type { Scoreboard } from "./scoreboard.js";
import { openScreen } from "./screen.js";

/** A live picture on a terminal, plain lines anywhere else. */
export function openView(board: Scoreboard): View {
  return process.stdout.isTTY && process.env.TERM !== "dumb" ? openScreen(board) : openPlain(board);
}
