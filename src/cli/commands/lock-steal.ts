/** `holdfast lock steal KEY`: a detached grant, taken over from a holder that is gone. */
import type { Context, Outcome } from "../context.js";
import { take } from "../taking.js";

export function run(context: Context): Promise<Outcome> {
  return take(context, "steal");
}
