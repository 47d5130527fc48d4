/** The tool `issue_add`: adds an issue to the board. */
import * as z from "zod";
import { given } from "../../../base/given.js";
import { PRIORITIES } from "../../../features/board/issue.js";
import { ISSUE, issueText } from "../issues.js";
import { defineTool } from "../tool.js";

export const issueAdd = defineTool({
  name: "issue_add",
  description: "Put an issue on the board.",
  purpose: "look",
  changes: true,
  input: z.strictObject({
    title: z.string(),
    description: z.string().optional(),
    priority: z.enum(PRIORITIES).optional(),
    labels: z.array(z.string()).optional(),
    depends_on: z.array(z.string()).optional(),
  }),
  output: { issue: ISSUE },
  async call({ title, description, priority, labels, depends_on: dependencies }, { run: { board } }) {
    const issue = await board.add({
      title,
      ...given({ description, priority, labels, dependencies }),
    });
    return { data: { issue }, text: `Added.\n${issueText(issue)}` };
  },
});
