/** `holdfast issue wait ID`. */
import type { IssueState } from "../../board/board.js";
import { readTheBoard } from "../board.js";
import type { Context, Outcome } from "../context.js";
import { issueOutcome } from "../issue-text.js";
import { tellingLater } from "../telling-later.js";
import { waitingFor } from "../waiting.js";

export async function run(context: Context): Promise<Outcome> {
  const id = context.arg("ID");
  const states = context.flags.list("state") as readonly IssueState[];
  const board = readTheBoard(context);
  const wanted = states.length === 0 ? "closed" : states.join(" or ");
  const told = { late: `issue ${id} was not ${wanted}`, look: `holdfast issue show ${id}` };
  const waited = waitingFor(context, told, (signal) => board.wait(id, states, { signal }));
  return issueOutcome(
    "waited for",
    await tellingLater(context.screen, () => `waiting for issue ${id} to be ${wanted} (Ctrl-C stops)`, waited),
  );
}
