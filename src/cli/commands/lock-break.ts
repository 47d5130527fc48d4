/** `holdfast lock break KEY --reason TEXT`. */
import type { Context, Outcome } from "../context.js";
import { grantsOutcome } from "../detached.js";

export async function run(context: Context): Promise<Outcome> {
  const holdfast = await context.openHoldfast();
  const grants = await holdfast.break(context.arg("KEY"), { reason: context.flags.text("reason") ?? "" });
  return grantsOutcome("broken", grants);
}
