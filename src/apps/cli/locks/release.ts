/**
 * Gives locks back. Inside the run of an agent these are all grants of the run on the keys: what its commands acquired, with
 * the loans that they took, and what its hook holds. A file that is lent to another run or to a sub-agent stays held,
 * because its borrower may be writing it.
 */
import { HoldfastError } from "../../../base/errors.js";
import type { Lease } from "../../../client/lease/lease.js";
import { tokenFolderOf } from "../../../client/workspace/find-workspace.js";
import { lentKey } from "../../../client/workspace/lent-key.js";
import { actsForRun, heldTokens } from "../../../client/workspace/run-tokens.js";
import { parseKey } from "../../../lock/key.js";
import { isFileKey } from "../../../lock/reserved-kinds.js";
import type { Outcome } from "../command.js";
import { type GrantContext, grantsOf, grantsOutcome, inOrderOf, type Taken, takeUpAll } from "./detached-grants.js";

export async function releaseLocks(context: GrantContext): Promise<Outcome> {
  const { KEY: keys } = context.args;
  const taken = await takeUpAll(context);
  const grants = grantsOf(taken.found);
  const files = keys.filter(isFileKey);
  if (files.length > 0 && actsForRun(taken.holdfast, context.workspace())) await releaseOfRun(context, taken, files);
  else await release(taken);
  const released = inOrderOf(keys, grants);
  const names = [...new Set(released.map((each) => each.resource))];
  return { ...grantsOutcome("released", released), text: () => `released ${names.join(", ")}` };
}

async function release({ found, files }: Taken): Promise<void> {
  for (const { lease, token } of found) {
    await lease.release();
    files.forget(lease.keys, token);
  }
}

/** Nothing is lent anew meanwhile. The loans of the run's own commands end last: until then they are no reason to refuse. */
async function releaseOfRun(context: GrantContext, taken: Taken, keys: readonly string[]): Promise<void> {
  const { closeToBorrowers, giveBackOne } = await import("../../../agents/run/lending.js");
  const { holdfast, files } = taken;
  const lent = keys.map((key) => lentKey(holdfast.owner, parseKey(key)));
  const loans = await heldTokens(
    holdfast,
    lent.flatMap((key) => files.find(key)),
  );
  await using closed: Lease | null = await closeToBorrowers(holdfast, lent, loans);
  if (closed === null) throw isLent(keys);
  await release(taken);
  await closed.release();
  const folder = tokenFolderOf(context.workspace(), context.env);
  for (const loan of loans) await giveBackOne({ holdfast, folder }, loan);
}

function isLent(keys: readonly string[]): HoldfastError {
  return new HoldfastError("E_LOCK_CONFLICT", `${keys.join(", ")}: lent to a run that works for this one`, {
    details: { resource: keys[0] },
    next: ["holdfast lock list lent:files", "Release it when that run has ended."],
  });
}
