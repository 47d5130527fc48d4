/** The tool `issue_update`: changes an issue. Closing it, or sending it back, ends the claim. */
import * as z from "zod";
import { invalidArgument } from "../../../base/errors.js";
import { given } from "../../../base/given.js";
import type { Issue } from "../../../features/board/board.js";
import {
  ISSUE_STATES,
  type IssuePatch,
  type IssueState,
  PRIORITIES,
  parseIssueId,
} from "../../../features/board/issue.js";
import { ISSUE, issueText } from "../issues.js";
import type { Run } from "../run/run.js";
import { defineTool } from "../tool.js";

const SENT_BACK: readonly IssueState[] = ["ready", "backlog"];
const CHANGES = ["state", "priority", "add_labels", "remove_labels"];

export const issueUpdate = defineTool({
  name: "issue_update",
  description: "Change an issue nobody else has claimed: done closes it, ready gives your claim back.",
  purpose: "look",
  changes: true,
  input: z.strictObject({
    id: z.string(),
    state: z.enum(ISSUE_STATES).optional(),
    priority: z.enum(PRIORITIES).optional(),
    add_labels: z.array(z.string()).optional(),
    remove_labels: z.array(z.string()).optional(),
  }),
  output: { issue: ISSUE },
  async call({ id, state, priority, add_labels: addLabels, remove_labels: removeLabels }, { run: own }) {
    if ([state, priority, ...(addLabels ?? []), ...(removeLabels ?? [])].every((each) => each === undefined))
      throw invalidArgument("change", `say at least one of ${CHANGES.join(", ")}`);
    const patch: IssuePatch = {
      ...given({ priority, addLabels, removeLabels }),
    };
    const before = await own.board.get(id).catch(() => null);
    const issue = await change(own, parseIssueId(id), state, patch);
    const head = issue.revision === before?.revision ? "Nothing to change, it is so already." : "Changed.";
    return { data: { issue }, text: `${head}\n${issueText(issue)}` };
  },
});

async function change(
  { board, holdings }: Run,
  id: string,
  state: IssueState | undefined,
  patch: IssuePatch,
): Promise<Issue> {
  const token = holdings.claimToken(id);
  const claim = given({ token });
  const closes = state === "done" || state === "rejected";
  const sendsBack = token !== undefined && state !== undefined && SENT_BACK.includes(state);
  if (!closes && !sendsBack) return board.update(id, { ...patch, ...given({ state }) }, claim);
  // mutant: board-end-in-one-step: { ...claim, patch }; → { ...claim, patch }; await board.update(id, patch, claim);
  const end = { ...claim, patch };
  const issue = closes ? await board.close(id, { state, ...end }) : await board.release(id, { state, ...end });
  holdings.forgetClaim(id);
  return issue;
}
