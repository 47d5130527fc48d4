/** `holdfast issue release ID`. */
import type { IssueState } from "../../board/board.js";
import { issueKey } from "../../board/issue.js";
import { changing, openTheBoard } from "../board.js";
import type { Context, Outcome } from "../context.js";
import { issueOutcome } from "../issue-text.js";

export async function run(context: Context): Promise<Outcome> {
  const opened = await openTheBoard(context);
  const state = context.flags.text("state") as IssueState | undefined;
  const issue = await changing(context, opened, async (id, options) => {
    const released = await opened.board.release(id, { ...options, ...(state === undefined ? {} : { state }) });
    if (options.token !== undefined) opened.files.forget([issueKey(id)], options.token);
    return released;
  });
  return issueOutcome("released", issue);
}
