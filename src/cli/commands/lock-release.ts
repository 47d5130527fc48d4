/** `holdfast lock release KEY…`. The kept token goes when the grant has gone. */
import type { Context, Outcome } from "../context.js";
import { grantsOf, grantsOutcome, inOrderOf, takeUp } from "../detached.js";

export async function run(context: Context): Promise<Outcome> {
  const { files, found } = await takeUp(context);
  const grants = grantsOf(found);
  for (const { lease, token } of found) {
    await lease.release();
    files.forget(lease.keys, token);
  }
  const released = inOrderOf(context.args("KEY"), grants);
  return {
    ...grantsOutcome("released", released),
    text: () => `released ${released.map((each) => each.resource).join(", ")}`,
  };
}
