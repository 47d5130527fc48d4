/** The tool `issue_list`: lists the issues of the board, a page at a time. */
import * as z from "zod";
import { given } from "../../../base/given.js";
import { ISSUE_STATES } from "../../../features/board/issue.js";
import { ISSUES, issueLine } from "../issues.js";
import { defineTool, limit, NEXT, NUMBER } from "../tool.js";

const DEFAULT_LIMIT = 30;

export const issueList = defineTool({
  name: "issue_list",
  description: "Issues on the board.",
  purpose: "look",
  input: z.strictObject({
    state: z.enum(ISSUE_STATES).optional(),
    ready: z.boolean().optional().describe("only what can be begun now"),
    label: z.string().optional(),
    text: z.string().optional(),
    limit,
    after: z.string().optional(),
  }),
  output: { issues: ISSUES, total: NUMBER, next: NEXT },
  async call({ state, ready, label, text, limit: most = DEFAULT_LIMIT, after }, { run: { board } }) {
    const page = await board.list({
      limit: most,
      ...(state === undefined ? {} : { state: [state] }),
      ...given({ ready }),
      ...(label === undefined ? {} : { labels: [label] }),
      ...given({ text, after }),
    });
    const lines = page.issues.length === 0 ? ["No issues."] : page.issues.map((issue) => `- ${issueLine(issue)}`);
    if (page.next !== null) lines.push(`${page.total} in all: issue_list with after ${JSON.stringify(page.next)}.`);
    if (page.unreadable.length > 0) lines.push(`Left out, because they cannot be read: ${page.unreadable.join(", ")}.`);
    return { data: { issues: page.issues, total: page.total, next: page.next }, text: lines.join("\n") };
  },
});
