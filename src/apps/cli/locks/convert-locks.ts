/** Converts locks of the caller to another mode. */

import { given } from "../../../base/given.js";
import type { GrantRecord } from "../../../lock/grant.js";
import type { ContextWith, Outcome } from "../command.js";
import { tellingOfTheWait } from "./acquire.js";
import { conversionOutcome, type GrantContext, grantsOf, inOrderOf, takeUp } from "./detached-grants.js";

/** Upgrades one key after the other, in the order given. */
export async function upgradeLocks(
  context: GrantContext & ContextWith<{ readonly wait: string | undefined }>,
): Promise<Outcome> {
  const options = { signal: context.signal, ...given({ wait: context.flags.wait }) };
  const before = grantsOf((await takeUp(context)).found); // Before the first is upgraded, all must be there.
  const grants: GrantRecord[] = [];
  for (const key of context.args.KEY) {
    const { holdfast, found } = await takeUp(context, [key]);
    for (const { lease } of found) {
      await tellingOfTheWait(context, holdfast, [key], lease.upgrade(options));
      grants.push(...lease.grants);
    }
  }
  return conversionOutcome("upgraded", "write", before, grants);
}

export async function downgradeLocks(context: GrantContext): Promise<Outcome> {
  const { found } = await takeUp(context);
  const before = grantsOf(found);
  for (const { lease } of found) await lease.downgrade();
  return conversionOutcome("downgraded", "read", before, inOrderOf(context.args.KEY, grantsOf(found)));
}
