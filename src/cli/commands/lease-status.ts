/** `holdfast lease status NAME`. */
import { createRuntimeLeases } from "../../runtime/leases.js";
import type { Context, Outcome } from "../context.js";
import { leftOf } from "../grants-text.js";
import { leaseData } from "../lease-data.js";

export async function run(context: Context): Promise<Outcome> {
  const name = context.arg("NAME");
  const holdfast = await context.openForReading();
  const status = holdfast === null ? null : await createRuntimeLeases(holdfast).status(name);
  if (status === null || status.grant === null)
    return {
      data: { lease: { name, resource: `runtime:${name}`, state: "free", holder: null } },
      text: () => `${name} is free`,
    };
  const { grant, holder, state } = status;
  return {
    data: { lease: { ...leaseData(name, holder ?? grant.owner, grant), state } },
    text: () => `${name} is ${state}: ${holder}, ${leftOf(grant)}`,
  };
}
