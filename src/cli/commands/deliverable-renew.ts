/** `holdfast deliverable renew DIR`. */
import type { Context, Outcome } from "../context.js";
import { untilText } from "../deliverable-text.js";
import { deliverableOf, tokenOf } from "../open-deliverable.js";

export async function run(context: Context): Promise<Outcome> {
  const deliverable = deliverableOf(context);
  const ttl = context.flags.text("ttl");
  const lock = await deliverable.renew({ ...tokenOf(context), ...(ttl === undefined ? {} : { ttl }) });
  return {
    data: { lock },
    text: (screen) =>
      `${screen.paint("green", "renewed")} ${deliverable.folder}\nfor ${lock.holder} ${untilText(lock)}`,
  };
}
