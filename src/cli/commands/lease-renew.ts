/** `holdfast lease renew NAME --token TOKEN`. */
import { createRuntimeLeases } from "../../runtime/leases.js";
import { HoldfastError } from "../../support/errors.js";
import type { Context, Outcome } from "../context.js";
import { leftOf } from "../grants-text.js";
import { leaseData, leaseToken } from "../lease-data.js";

export async function run(context: Context): Promise<Outcome> {
  const token = leaseToken(context);
  const holdfast = await context.openHoldfast();
  const name = context.arg("NAME");
  const grant = await createRuntimeLeases(holdfast).renew(name, holdfast.owner, token, context.flags.text("ttl"));
  if (grant === null)
    throw new HoldfastError("E_LOCK_NOT_HELD", `this is not the current token of ${name} for ${holdfast.owner}`, {
      details: { resource: `runtime:${name}` },
      next: [`holdfast lease status ${name}`, `holdfast lease acquire ${name}`],
    });
  return {
    data: { lease: leaseData(name, holdfast.owner, grant) },
    text: () => `${name} is open for ${leftOf(grant)} more`,
  };
}
