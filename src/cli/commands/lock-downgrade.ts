/** `holdfast lock downgrade KEY…`. */
import type { Context, Outcome } from "../context.js";
import { conversionOutcome, grantsOf, inOrderOf, takeUp } from "../detached.js";

export async function run(context: Context): Promise<Outcome> {
  const { found } = await takeUp(context);
  const before = grantsOf(found);
  for (const { lease } of found) await lease.downgrade();
  return conversionOutcome("downgraded", "read", before, inOrderOf(context.args("KEY"), grantsOf(found)));
}
