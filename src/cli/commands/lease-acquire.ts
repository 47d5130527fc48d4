/** `holdfast lease acquire NAME`. */
import { createRuntimeLeases } from "../../runtime/leases.js";
import type { Context, Outcome } from "../context.js";
import { leftOf } from "../grants-text.js";
import { leaseData } from "../lease-data.js";

export async function run(context: Context): Promise<Outcome> {
  const holdfast = await context.openHoldfast();
  const name = context.arg("NAME");
  const lease = await createRuntimeLeases(holdfast).acquire(name, holdfast.owner, context.flags.text("ttl"));
  if (lease === null) {
    // Says who is in the way, or, when it has just gone, that it has.
    await holdfast.untilFree(`runtime:${name}`, { wait: 0 });
    return run(context);
  }
  const { grant, token } = lease;
  return {
    data: { lease: { ...leaseData(name, holdfast.owner, grant), token } },
    text: () => token,
    notes: [`${name} is open for ${leftOf(grant)}; the line above is its token`],
  };
}
