/** `holdfast issue dep rm ID ON`. */
import { changing, openTheBoard } from "../board.js";
import type { Context, Outcome } from "../context.js";
import { issueOutcome } from "../issue-text.js";

export async function run(context: Context): Promise<Outcome> {
  const opened = await openTheBoard(context);
  const issue = await changing(context, opened, (id, options) =>
    opened.board.removeDependency(id, context.arg("ON"), options),
  );
  return issueOutcome("updated", issue);
}
