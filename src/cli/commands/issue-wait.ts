/** `holdfast issue wait ID`. */
import type { IssueState } from "../../board/board.js";
import { readTheBoard } from "../board.js";
import type { Context, Outcome } from "../context.js";
import { issueOutcome } from "../issue-text.js";
import { waitingFor } from "../waiting.js";

export async function run(context: Context): Promise<Outcome> {
  const id = context.arg("ID");
  const states = context.flags.list("state") as readonly IssueState[];
  const board = readTheBoard(context);
  const what = `issue ${id} being ${states.length === 0 ? "closed" : states.join(" or ")}`;
  return issueOutcome("waited for", await waitingFor(context, what, (signal) => board.wait(id, states, { signal })));
}
