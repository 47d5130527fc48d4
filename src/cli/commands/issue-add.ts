/** `holdfast issue add TITLE`. */
import type { IssueState, Priority } from "../../board/board.js";
import { openTheBoard } from "../board.js";
import type { Context, Outcome } from "../context.js";
import { issueOutcome, nobodyOr } from "../issue-text.js";

export async function run(context: Context): Promise<Outcome> {
  const { flags } = context;
  const { board } = await openTheBoard(context);
  const [description, assignee, extra] = [flags.text("description"), flags.text("assignee"), flags.pairs("context")];
  const issue = await board.add({
    title: context.arg("TITLE"),
    state: (flags.text("state") ?? "ready") as IssueState,
    priority: (flags.text("priority") ?? "normal") as Priority,
    labels: flags.list("label"),
    dependencies: flags.list("dep"),
    gates: flags.list("gate"),
    ...(description === undefined ? {} : { description }),
    ...(assignee === undefined ? {} : { assignee: nobodyOr(assignee) }),
    ...(extra === undefined ? {} : { context: extra }),
  });
  return issueOutcome("added", issue);
}
