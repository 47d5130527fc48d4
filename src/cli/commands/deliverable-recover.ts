/** `holdfast deliverable recover DIR`. */
import type { Context, Outcome } from "../context.js";
import { recoveredText } from "../deliverable-text.js";
import { deliverableOf } from "../open-deliverable.js";

export async function run(context: Context): Promise<Outcome> {
  const deliverable = deliverableOf(context);
  const recovered = await deliverable.recover();
  return {
    data: { folder: deliverable.folder, recovered },
    text: () =>
      recovered === null
        ? `${deliverable.folder} is free: there was nothing to recover`
        : `${recoveredText(recovered)}\n${deliverable.folder} is free`,
  };
}
