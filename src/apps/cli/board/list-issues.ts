/** Lists the issues that a query finds, a page at a time. */

import { count } from "../../../base/count-text.js";
import type { IssuePage, IssueQuery } from "../../../features/board/board.js";
import type { BaseContext, Outcome } from "../command.js";
import { readTheBoard } from "./board.js";
import { issueTable } from "./issue-text.js";

export async function listIssues(context: BaseContext, query: IssueQuery): Promise<Outcome> {
  const page = await readTheBoard(context).list(query);
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
