/** `holdfast issue update ID`. */
import type { IssuePatch, IssueState, Priority } from "../../board/board.js";
import { changing, openTheBoard } from "../board.js";
import type { Context, Outcome } from "../context.js";
import { issueOutcome } from "../issue-text.js";

export async function run(context: Context): Promise<Outcome> {
  const opened = await openTheBoard(context);
  const issue = await changing(context, opened, async (id, options) => {
    const extra = context.flags.pairs("context");
    const before = extra === undefined ? {} : (await opened.board.get(id)).context;
    const patch = { ...patchOf(context), ...(extra === undefined ? {} : { context: { ...before, ...extra } }) };
    return opened.board.update(id, patch, options);
  });
  return issueOutcome("updated", issue);
}

function patchOf({ flags }: Context): IssuePatch {
  const [title, description, assignee] = [flags.text("title"), flags.text("description"), flags.text("assignee")];
  const [state, priority] = [flags.text("state"), flags.text("priority")];
  return {
    addLabels: flags.list("add-label"),
    removeLabels: flags.list("rm-label"),
    addGates: flags.list("add-gate"),
    removeGates: flags.list("rm-gate"),
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(assignee === undefined ? {} : { assignee: assignee === "none" ? null : assignee }),
    ...(state === undefined ? {} : { state: state as IssueState }),
    ...(priority === undefined ? {} : { priority: priority as Priority }),
  };
}
