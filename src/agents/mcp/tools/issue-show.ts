/** The tool `issue_show`: shows one issue with all its fields. */
import * as z from "zod";
import { ISSUE, issueText } from "../issues.js";
import { defineTool } from "../tool.js";

export const issueShow = defineTool({
  name: "issue_show",
  description: "One issue with its description, dependencies and gates.",
  purpose: "look",
  input: z.strictObject({ id: z.string() }),
  output: { issue: ISSUE },
  async call({ id }, { run: { board } }) {
    const issue = await board.get(id);
    return { data: { issue }, text: issueText(issue) };
  },
});
