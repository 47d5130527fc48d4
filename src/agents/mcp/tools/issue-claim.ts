/** The tool `issue_claim`: claims an issue, or the best one that is ready. The claim ends with the run. */
import * as z from "zod";
import { given } from "../../../base/given.js";
import { issueKey } from "../../../features/board/issue.js";
import { ISSUE, issueText } from "../issues.js";
import { tellingOfTheWait } from "../run/wait-progress.js";
import { type Answer, type Call, DEFAULT_TTL_S, defineTool, FLAG, ttlS, waitS } from "../tool.js";

interface Wanted {
  readonly id?: string | undefined;
  readonly labels?: readonly string[] | undefined;
  readonly wait_s?: number | undefined;
  readonly ttl_s?: number | undefined;
}

export const issueClaim = defineTool({
  name: "issue_claim",
  description: "Claim an issue to work on; without id the best that is ready. No two agents get the same.",
  purpose: "take",
  input: z.strictObject({
    id: z.string().optional(),
    labels: z.array(z.string()).optional(),
    wait_s: waitS,
    ttl_s: ttlS,
  }),
  output: { claimed: FLAG, issue: ISSUE },
  async call(args, call): Promise<Answer> {
    const got = await claimFor(args, call);
    if (got === null)
      return {
        data: { claimed: false },
        text: "Nothing can be begun now: issue_list shows what is there and what it waits for.",
      };
    const { issue, token } = got;
    try {
      call.signal.throwIfAborted();
      await call.run.holdings.addClaim(issue.id, issueKey(issue.id), token);
    } catch (error) {
      await call.run.board.release(issue.id, { token }).catch(() => undefined);
      throw error;
    }
    const words =
      "Claimed. Any call renews it; close it with issue_update, state done, or give it back with state ready.";
    return { data: { claimed: true, issue }, text: `${words}\n${issueText(issue)}` };
  },
});

async function claimFor({ id, labels, wait_s: wait = 0, ttl_s = DEFAULT_TTL_S }: Wanted, call: Call) {
  const { board } = call.run;
  const ttl = ttl_s * 1_000;
  const pid = process.pid;
  if (id === undefined) return board.claimNext({ ttl, pid, ...given({ labels }) });
  const claim = board.claim(id, { ttl, pid, wait: wait * 1_000, signal: call.signal });
  return tellingOfTheWait(call, [issueKey(id)], wait, claim);
}
