/** Claims an issue, or the best one that is ready. */

import { HoldfastError } from "../../../base/errors.js";
import { given } from "../../../base/given.js";
import { parseIssueId } from "../../../features/board/issue.js";
import type { ContextWith, Outcome } from "../command.js";
import { keepingToken, openTheBoard } from "./board.js";
import { claimOutcome } from "./claim-text.js";
import { issueTable } from "./issue-text.js";

interface ClaimFlags {
  readonly ttl: string | undefined;
  readonly wait: string | undefined;
}

export async function claimIssue(context: ContextWith<ClaimFlags, { readonly ID: string }>): Promise<Outcome> {
  const { ttl, wait } = context.flags;
  const opened = await openTheBoard(context);
  const id = parseIssueId(context.args.ID);
  const { signal } = context;
  const claimed = await keepingToken(opened, (keep) =>
    opened.board.claim(id, { signal, keepToken: (token) => keep(token, id), ...given({ ttl, wait }) }),
  );
  return claimOutcome(claimed);
}

interface NextFlags {
  readonly claim: boolean;
  readonly label: readonly string[];
  readonly ttl: string | undefined;
}

export async function nextIssue(context: ContextWith<NextFlags>): Promise<Outcome> {
  const { claim, label: labels, ttl } = context.flags;
  const opened = await openTheBoard(context);
  if (!claim) {
    const issue = await opened.board.next({ labels });
    if (issue === null) throw nothingToBegin();
    return { data: { issue }, text: (screen) => issueTable([issue], screen) };
  }
  const { claimed } = await keepingToken(opened, async (keepToken) => {
    const found = await opened.board.claimNext({ labels, keepToken, ...given({ ttl }) });
    if (found === null) throw nothingToBegin();
    return { claimed: found, token: found.token };
  });
  return claimOutcome(claimed);
}

function nothingToBegin(): HoldfastError {
  return new HoldfastError("E_NOT_FOUND", "there is no issue that can be begun now", {
    next: ["holdfast issue list", "Wait until one is closed or released, then ask again."],
  });
}
