/** `holdfast lock verify KEY --fence N`. */
import type { Context, Outcome } from "../context.js";
import { leftOf } from "../grants-text.js";

export async function run(context: Context): Promise<Outcome> {
  const holdfast = await context.openHoldfast();
  const grant = await holdfast.verify(context.arg("KEY"), context.flags.integer("fence") ?? Number.NaN);
  return {
    data: { grant },
    text: () =>
      `${grant.fencing_token} is current on ${grant.resource}: ${grant.owner}, ${grant.mode}, ${leftOf(grant)} left`,
  };
}
