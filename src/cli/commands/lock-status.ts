/** `holdfast lock status KEY`. */
import type { Context, Outcome } from "../context.js";

export async function run(context: Context): Promise<Outcome> {
  const holdfast = await context.openForReading();
  const status = await holdfast?.inspect(context.arg("KEY"));
  return { data: status, text: () => JSON.stringify(status) };
}
