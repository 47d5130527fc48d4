/** `holdfast lock renew KEY…`. */
import type { Context, Outcome } from "../context.js";
import { grantsOf, grantsOutcome, inOrderOf, takeUp } from "../detached.js";

export async function run(context: Context): Promise<Outcome> {
  const { found } = await takeUp(context);
  for (const { lease } of found) await lease.renew(context.flags.text("ttl"));
  return grantsOutcome("renewed", inOrderOf(context.args("KEY"), grantsOf(found)));
}
