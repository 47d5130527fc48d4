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

/** The owner of the workspace around, when there is one. */
function ownerAnywhere(context: BaseContext): string | undefined {
  const said = context.flags.owner ?? (context.env.HOLDFAST_OWNER || undefined);
  if (said !== undefined) return said;
  try {
    return context.workspace().owner;
  } catch (error) {
    if (isHoldfastError(error, "E_CONFIG")) return undefined;
    throw error;
  }
}
