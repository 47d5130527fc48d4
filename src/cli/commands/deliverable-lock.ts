/** `holdfast deliverable lock DIR`. */
import type { Context, Outcome } from "../context.js";
import { recoveredText, untilText } from "../deliverable-text.js";
import { deliverableOf } from "../open-deliverable.js";

export async function run(context: Context): Promise<Outcome> {
  const deliverable = deliverableOf(context);
  const ttl = context.flags.text("ttl");
  const pid = context.flags.integer("pid");
  const { record, token, recovered } = await deliverable.lock({
    ...(ttl === undefined ? {} : { ttl }),
    ...(pid === undefined ? { detached: true } : { pid }),
  });
  return {
    data: { lock: { ...record, lease_token: token }, recovered },
    text: (screen) =>
      `${screen.paint("green", "locked")} ${deliverable.folder}\nfor ${record.holder} ${untilText(record)}, fencing token ${record.fencing_token}`,
    notes: recovered === null ? [] : [recoveredText(recovered)],
  };
}
