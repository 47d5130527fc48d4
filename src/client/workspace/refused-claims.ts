/**
 * Records in the audit trail that a command of a run claimed the name or the token of another owner, so that the people
 * responsible for the agents can see it.
 */
import { existsSync } from "node:fs";
import { isHoldfastError } from "../../base/errors.js";
import { parseKey } from "../../lock/key.js";
import { POLICY_TREE } from "../../lock/reserved-kinds.js";
import { kernelOf } from "../kernel.js";
import { openIn } from "../open-holdfast.js";
import { type FoundWorkspace, storeMark } from "./find-workspace.js";

const LONGEST_NAME = 200;

/** `workspaceOf` finds the workspace for the run itself. A store that cannot be written changes nothing about the refusal. */
export async function recordClaim(error: unknown, workspaceOf: (acting: string) => FoundWorkspace): Promise<void> {
  if (!isHoldfastError(error, "E_FORBIDDEN")) return;
  const { claimed, run } = error.details;
  if (typeof claimed !== "string" || typeof run !== "string") return;
  try {
    const workspace = workspaceOf(run);
    const mark = storeMark(workspace.store);
    if (mark !== null && !existsSync(mark)) return;
    await using holdfast = await openIn(workspace, { heart: "loop" });
    // mutant: claim-on-record: await kernelOf(holdfast).refuse( → void (
    await kernelOf(holdfast).refuse(parseKey(POLICY_TREE), {
      code: error.code,
      claimed: claimed.slice(0, LONGEST_NAME),
    });
  } catch {
    // The command is refused all the same.
  }
}
