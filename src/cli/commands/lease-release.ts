/** `holdfast lease release NAME --token TOKEN`. What is not there to be released is no failure. */
import { createRuntimeLeases } from "../../runtime/leases.js";
import type { Context, Outcome } from "../context.js";
import { leaseToken } from "../lease-data.js";

export async function run(context: Context): Promise<Outcome> {
  const token = leaseToken(context);
  const holdfast = await context.openHoldfast();
  const name = context.arg("NAME");
  const released = await createRuntimeLeases(holdfast).release(name, holdfast.owner, token);
  return {
    data: { name, released },
    text: () => (released ? `${name} is closed` : `nothing to close: this is not the current token of ${name}`),
  };
}
