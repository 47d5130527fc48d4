/** `holdfast deliverable status DIR`. */
import type { Context, Outcome } from "../context.js";
import { statusText } from "../deliverable-text.js";
import { deliverableOf } from "../open-deliverable.js";

export async function run(context: Context): Promise<Outcome> {
  const deliverable = await deliverableOf(context).status();
  return { data: { deliverable }, text: (screen) => statusText(deliverable, screen) };
}
