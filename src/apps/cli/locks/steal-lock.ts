/** Acquires a lock whose holder is gone, as a detached grant, and ends the old grant. A refusal says what to do instead. */

import { HoldfastError, isHoldfastError } from "../../../base/errors.js";
import type { Contention } from "../../../lock/contention.js";
import { isPerson } from "../../../lock/owner.js";
import type { BaseContext, Outcome } from "../command.js";
import { takeOver } from "./acquire.js";

export async function stealLock(context: Parameters<typeof takeOver>[0]): Promise<Outcome> {
  const { KEY: resource } = context.args;
  try {
    return await takeOver(context);
  } catch (error) {
    if (isHoldfastError(error, "E_NOT_FOUND")) throw nothingToSteal(resource, error);
    if (isHoldfastError(error, "E_LOCK_CONFLICT")) throw stillHeld(context, resource, error);
    throw error;
  }
}

function nothingToSteal(resource: string, cause: HoldfastError): HoldfastError {
  return new HoldfastError("E_NOT_FOUND", cause.message, {
    cause,
    details: { ...cause.details, resource },
    next: [`holdfast lock acquire ${resource}`],
  });
}

function stillHeld(context: BaseContext, resource: string, cause: HoldfastError): HoldfastError {
  const { details, message } = cause;
  // What is in the way may be held above or below the key that was asked for.
  const held = (details.contention as Contention | undefined)?.holders[0]?.resource ?? resource;
  const toBreak = `holdfast lock break ${held} --reason "…"`;
  const maySo = isPerson(context.settings().owner);
  return new HoldfastError("E_LOCK_CONFLICT", message, {
    cause,
    details,
    next: [
      `holdfast lock wait ${resource} --wait 2m`,
      maySo ? toBreak : `Only a person may end it before its time. Ask one for: ${toBreak}`,
    ],
  });
}
