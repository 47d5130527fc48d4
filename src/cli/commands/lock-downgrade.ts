/** `holdfast lock downgrade KEY…`. */
import type { Context, Outcome } from "../context.js";
import { forEachLease } from "../detached.js";

export function run(context: Context): Promise<Outcome> {
  return forEachLease(context, "downgraded", (lease) => lease.downgrade());
}
