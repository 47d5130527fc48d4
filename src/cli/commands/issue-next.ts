/** `holdfast issue next [--claim]`. */
import { HoldfastError } from "../../support/errors.js";
import { keepingToken, openTheBoard } from "../board.js";
import { claimOutcome } from "../claim-text.js";
import type { Context, Outcome } from "../context.js";
import { issueTable } from "../issue-text.js";

export async function run(context: Context): Promise<Outcome> {
  const { flags } = context;
  const opened = await openTheBoard(context);
  const labels = flags.list("label");
  if (!flags.has("claim")) {
    const issue = await opened.board.next({ labels });
    if (issue === null) throw nothing();
    return { data: { issue }, text: (screen) => issueTable([issue], screen) };
  }
  const ttl = flags.text("ttl");
  const { claimed } = await keepingToken(opened, async (keepToken) => {
    const found = await opened.board.claimNext({ labels, keepToken, ...(ttl === undefined ? {} : { ttl }) });
    if (found === null) throw nothing();
    return { claimed: found, token: found.token };
  });
  return claimOutcome(claimed);
}

function nothing(): HoldfastError {
  return new HoldfastError("E_NOT_FOUND", "there is no issue that can be begun now", {
    next: ["holdfast issue list", "Wait until one is closed or released, then ask again."],
  });
}
