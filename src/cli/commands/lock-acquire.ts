/** `holdfast lock acquire KEY…`: a detached grant. */
import type { Context, Outcome } from "../context.js";
import { take } from "../taking.js";

export function run(context: Context): Promise<Outcome> {
  return take(context, "acquire");
}
