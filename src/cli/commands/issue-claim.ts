/** `holdfast issue claim ID`. */

import { parseIssueId } from "../../board/issue.js";
import { keepingToken, openTheBoard } from "../board.js";
import { claimOutcome } from "../claim-text.js";
import type { Context, Outcome } from "../context.js";

export async function run(context: Context): Promise<Outcome> {
  const opened = await openTheBoard(context);
  const [ttl, wait] = [context.flags.text("ttl"), context.flags.text("wait")];
  const id = parseIssueId(context.arg("ID"));
  const claimed = await keepingToken(opened, (keep) =>
    opened.board.claim(id, {
      signal: context.signal,
      keepToken: (token) => keep(token, id),
      ...(ttl === undefined ? {} : { ttl }),
      ...(wait === undefined ? {} : { wait }),
    }),
  );
  return claimOutcome(claimed);
}
