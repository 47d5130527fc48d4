/** `holdfast issue list`. */
import type { IssueQuery, IssueSort, IssueState } from "../../board/board.js";
import { readTheBoard } from "../board.js";
import type { Context, Outcome } from "../context.js";
import { issueTable } from "../issue-text.js";

export async function run(context: Context): Promise<Outcome> {
  const page = await readTheBoard(context).list(queryOf(context));
  const { issues, next, total } = page;
  return {
    data: page,
    text: (screen) => issueTable(issues, screen),
    notes:
      issues.length === 0
        ? ["no issues"]
        : next === null
          ? []
          : [`${issues.length} of ${total}; more: the same with --after ${next}`],
  };
}

function queryOf({ flags }: Context): IssueQuery {
  const [assignee, text, after] = [flags.text("assignee"), flags.text("text"), flags.text("after")];
  const [limit, sort] = [flags.integer("limit"), flags.text("sort") as IssueSort | undefined];
  return {
    state: flags.list("state") as readonly IssueState[],
    labels: flags.list("label"),
    ready: flags.has("ready"),
    ...(assignee === undefined ? {} : { assignee }),
    ...(text === undefined ? {} : { text }),
    ...(after === undefined ? {} : { after }),
    ...(limit === undefined ? {} : { limit }),
    ...(sort === undefined ? {} : { sort }),
  };
}
