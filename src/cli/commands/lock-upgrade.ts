/** `holdfast lock upgrade KEY…`: one key after the other, in the order given. */
import type { GrantRecord } from "../../lock/grant.js";
import type { Context, Outcome } from "../context.js";
import { conversionOutcome, grantsOf, takeUp } from "../detached.js";
import { tellingOfTheWait } from "../taking.js";

export async function run(context: Context): Promise<Outcome> {
  const wait = context.flags.text("wait");
  const options = { signal: context.signal, ...(wait === undefined ? {} : { wait }) };
  const before = grantsOf((await takeUp(context)).found); // Before the first is upgraded, all must be there.
  const grants: GrantRecord[] = [];
  for (const key of context.args("KEY")) {
    const { holdfast, found } = await takeUp(context, [key]);
    for (const { lease } of found) {
      await tellingOfTheWait(context, holdfast, [key], lease.upgrade(options));
      grants.push(...lease.grants);
    }
  }
  return conversionOutcome("upgraded", "write", before, grants);
}
