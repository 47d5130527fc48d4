/** `holdfast issue close ID`. */
import { issueKey } from "../../board/issue.js";
import { changed, openTheBoard } from "../board.js";
import type { Context, Outcome } from "../context.js";
import { issueOutcome } from "../issue-text.js";

export async function run(context: Context): Promise<Outcome> {
  const opened = await openTheBoard(context);
  const state = context.flags.has("reject") ? "rejected" : "done";
  const { issue, isChanged } = await changed(context, opened, async (id, options) => {
    const closed = await opened.board.close(id, { ...options, state });
    if (options.token !== undefined) opened.files.forget([issueKey(id)], options.token);
    return closed;
  });
  return issueOutcome(isChanged ? "closed" : "closed already:", issue);
}
