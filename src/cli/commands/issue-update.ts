/** `holdfast issue update ID`. */
import type { IssuePatch, IssueState, Priority } from "../../board/board.js";
import { invalidArgument } from "../../support/errors.js";
import { changed, openTheBoard } from "../board.js";
import type { Context, Outcome } from "../context.js";
import { issueOutcome, nobodyOr } from "../issue-text.js";

const CHANGES = [
  "title",
  "description",
  "state",
  "priority",
  "assignee",
  "add-label",
  "rm-label",
  "add-gate",
  "rm-gate",
  "context",
];

export async function run(context: Context): Promise<Outcome> {
  if (!CHANGES.some((flag) => context.flags.has(flag)))
    throw invalidArgument("change", `say at least one of ${CHANGES.map((flag) => `--${flag}`).join(", ")}`);
  const opened = await openTheBoard(context);
  const { issue, isChanged } = await changed(context, opened, (id, options) =>
    opened.board.update(id, patchOf(context), options),
  );
  return issueOutcome(isChanged ? "updated" : "nothing to change:", issue);
}

function patchOf({ flags }: Context): IssuePatch {
  const [title, description, assignee] = [flags.text("title"), flags.text("description"), flags.text("assignee")];
  const [state, priority, addContext] = [flags.text("state"), flags.text("priority"), flags.pairs("context")];
  return {
    addLabels: flags.list("add-label"),
    removeLabels: flags.list("rm-label"),
    addGates: flags.list("add-gate"),
    removeGates: flags.list("rm-gate"),
    ...(addContext === undefined ? {} : { addContext }),
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(assignee === undefined ? {} : { assignee: nobodyOr(assignee) }),
    ...(state === undefined ? {} : { state: state as IssueState }),
    ...(priority === undefined ? {} : { priority: priority as Priority }),
  };
}
