/** `holdfast lock wait KEY`. */
import type { Mode } from "../../lock/mode.js";
import type { Context, Outcome } from "../context.js";
import { statusText } from "../status-text.js";
import { tellingOfTheWait } from "../taking.js";

export async function run(context: Context): Promise<Outcome> {
  const key = context.arg("KEY");
  const mode = context.flags.text("mode") as Mode | undefined;
  const wait = context.flags.text("wait");
  const holdfast = await context.openHoldfast();
  const options = {
    signal: context.signal,
    ...(mode === undefined ? {} : { mode }),
    ...(wait === undefined ? {} : { wait }),
  };
  await tellingOfTheWait(context, holdfast, [key], holdfast.untilFree(key, options));
  const status = await holdfast.inspect(key);
  return { data: status, text: (screen) => statusText(status, screen) };
}
