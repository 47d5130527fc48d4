/** `holdfast lock renew KEY…`. */
import type { Context, Outcome } from "../context.js";
import { forEachLease } from "../detached.js";

export function run(context: Context): Promise<Outcome> {
  return forEachLease(context, "renewed", (lease) => lease.renew(context.flags.text("ttl")));
}
