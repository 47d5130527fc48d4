/** Which view fits where the output goes. */
import { openPlain } from "./plain.mjs";
import { openScreen } from "./screen.mjs";

/** A live picture on a terminal, plain lines anywhere else. */
export function openView(board) {
  return process.stdout.isTTY && process.env.TERM !== "dumb" ? openScreen(board) : openPlain(board);
}
