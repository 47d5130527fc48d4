/** `holdfast issue list`. */
import type { IssuePage, IssueQuery, IssueSort, IssueState } from "../../board/board.js";
import { readTheBoard } from "../board.js";
import type { Context, Outcome } from "../context.js";
import { issueTable, nobodyOr } from "../issue-text.js";
import { count } from "../text.js";

export async function run(context: Context): Promise<Outcome> {
  const page = await readTheBoard(context).list(queryOf(context));
  return { data: page, text: (screen) => issueTable(page.issues, screen), notes: notesOn(page) };
}

function notesOn({ issues, next, total, unreadable }: IssuePage): string[] {
  const notes = issues.length === 0 ? ["no issues"] : [];
  if (next !== null) notes.push(`${issues.length} of ${total}; more: the same with --after ${next}`);
  if (unreadable.length > 0)
    notes.push(
      `left out, because ${count(unreadable.length, "file")} cannot be read: ${unreadable.join(", ")}; see holdfast doctor`,
    );
  return notes;
}

function queryOf({ flags }: Context): IssueQuery {
  const [assignee, text, after] = [flags.text("assignee"), flags.text("text"), flags.text("after")];
  const [limit, sort] = [flags.integer("limit"), flags.text("sort") as IssueSort | undefined];
  return {
    state: flags.list("state") as readonly IssueState[],
    labels: flags.list("label"),
    ready: flags.has("ready"),
    ...(assignee === undefined ? {} : { assignee: nobodyOr(assignee) }),
    ...(text === undefined ? {} : { text }),
    ...(after === undefined ? {} : { after }),
    ...(limit === undefined ? {} : { limit }),
    ...(sort === undefined ? {} : { sort }),
  };
}
