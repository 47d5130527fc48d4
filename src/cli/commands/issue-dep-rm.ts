/** `holdfast issue dep rm ID ON`. */
import { changed, openTheBoard } from "../board.js";
import type { Context, Outcome } from "../context.js";
import { issueOutcome } from "../issue-text.js";

export async function run(context: Context): Promise<Outcome> {
  const opened = await openTheBoard(context);
  const on = context.arg("ON");
  const { issue, isChanged } = await changed(context, opened, (id, options) =>
    opened.board.removeDependency(id, on, options),
  );
  return issueOutcome(isChanged ? "updated" : `did not depend on ${on}:`, issue);
}
