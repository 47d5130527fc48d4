/** `holdfast approve OPERATION [ID…]`. */
import { openHoldfast } from "../../open-holdfast.js";
import type { Context, Outcome } from "../context.js";
import { clockTime } from "../moments.js";
import { idsOf, policiesOf } from "../policy-words.js";

export async function run(context: Context): Promise<Outcome> {
  const { flags } = context;
  const by = flags.text("by");
  const [ttl, reason] = [flags.text("ttl"), flags.text("reason")];
  const operation = context.arg("OPERATION");
  const scope = { ids: idsOf(context.args("ID")) };
  const policies = policiesOf(context);
  policies.explain(operation, scope);
  await using holdfast =
    by === undefined
      ? await context.openHoldfast()
      : await openHoldfast({ store: context.workspace().store, owner: by });
  const { token, record } = await policies.approve(holdfast, operation, scope, {
    ...(ttl === undefined ? {} : { ttl }),
    ...(reason === undefined ? {} : { reason }),
  });
  return {
    data: { approval: { ...record, approval_token: token } },
    text: () => token,
    notes: [
      `${record.owner} approves ${operation} once, until ${clockTime(record.lease_expires_at)}: hand this token on`,
    ],
  };
}
