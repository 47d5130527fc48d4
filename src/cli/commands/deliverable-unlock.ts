/** `holdfast deliverable unlock DIR`. */
import type { Context, Outcome } from "../context.js";
import { deliverableOf, tokenOf } from "../open-deliverable.js";

export async function run(context: Context): Promise<Outcome> {
  const deliverable = deliverableOf(context);
  const terminate = context.flags.has("terminate");
  await deliverable.unlock({ ...tokenOf(context), terminate });
  return {
    data: { folder: deliverable.folder, unlocked: true, terminated: terminate },
    text: (screen) => `${screen.paint("green", terminate ? "terminated" : "unlocked")} ${deliverable.folder}`,
  };
}
