/** Approves one use of an operation, and prints the token of the approval. */

import { given } from "../../../base/given.js";
import { openIn } from "../../../client/open-holdfast.js";
import { parseOwner } from "../../../client/options.js";
import type { ContextWith, Outcome } from "../command.js";
import { clockTime } from "../output/times.js";
import { idsOf, policiesOf } from "./operation-arguments.js";

interface ApproveFlags {
  readonly by: string | undefined;
  readonly ttl: string | undefined;
  readonly reason: string | undefined;
}

interface Operation {
  readonly OPERATION: string;
  readonly ID: readonly string[];
}

export async function approveOperation(context: ContextWith<ApproveFlags, Operation>): Promise<Outcome> {
  const { by, ttl, reason } = context.flags;
  const { OPERATION: operation, ID: words } = context.args;
  const scope = { ids: idsOf(words) };
  const policies = policiesOf(context);
  policies.explain(operation, scope);
  await using holdfast =
    by === undefined ? await context.openHoldfast() : await openIn(context.settings(), { owner: parseOwner(by, "by") });
  const { token, record } = await policies.approve(holdfast, operation, scope, given({ ttl, reason }));
  return {
    data: { approval: { ...record, approval_token: token } },
    text: () => token,
    notes: [
      `${record.owner} approves ${operation} once, until ${clockTime(record.lease_expires_at)}: hand this token on`,
    ],
  };
}
