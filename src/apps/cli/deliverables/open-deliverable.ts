/**
 * Opens the deliverable folder that a command names, for the owner that runs the command. A deliverable needs no
 * workspace around it.
 */
import { resolve } from "node:path";
import { isHoldfastError } from "../../../base/errors.js";
import { given } from "../../../base/given.js";
import { type Deliverable, openDeliverable } from "../../../deliverable.js";
import type { BaseContext } from "../command.js";

export function deliverableOf(context: BaseContext, dir: string, deliverableId?: string): Deliverable {
  return openDeliverable(resolve(context.cwd, dir), given({ holder: ownerAnywhere(context), deliverableId }));
}

/** The owner in the workspace around; without a workspace the one that was named, if any. */
function ownerAnywhere(context: BaseContext): string | undefined {
  try {
    return context.settings().owner;
  } catch (error) {
    if (isHoldfastError(error, "E_CONFIG")) return context.flags.owner ?? (context.env.HOLDFAST_OWNER || undefined);
    throw error;
  }
}
