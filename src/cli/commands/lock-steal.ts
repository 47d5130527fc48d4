/** `holdfast lock steal KEY`: a detached grant, taken over from a holder that is gone. */
import type { Contention } from "../../lock/contention.js";
import { isPerson } from "../../lock/owner.js";
import { HoldfastError, isHoldfastError } from "../../support/errors.js";
import type { Context, Outcome } from "../context.js";
import { take } from "../taking.js";

export async function run(context: Context): Promise<Outcome> {
  try {
    return await take(context, "steal");
  } catch (error) {
    if (isHoldfastError(error, "E_NOT_FOUND")) throw nothingToSteal(context, error);
    if (isHoldfastError(error, "E_LOCK_CONFLICT")) throw stillHeld(context, error);
    throw error;
  }
}

function nothingToSteal(context: Context, cause: HoldfastError): HoldfastError {
  const resource = context.arg("KEY");
  return new HoldfastError(cause.code, cause.message, {
    cause,
    details: { ...cause.details, resource },
    next: [`holdfast lock acquire ${resource}`],
  });
}

function stillHeld(context: Context, cause: HoldfastError): HoldfastError {
  const { details, code, message } = cause;
  const resource = context.arg("KEY");
  // What is in the way may be held above or below the key that was asked for.
  const held = (details.contention as Contention | undefined)?.holders[0]?.resource ?? resource;
  const toBreak = `holdfast lock break ${held} --reason "…"`;
  const maySo = isPerson(context.workspace().owner);
  return new HoldfastError(code, message, {
    cause,
    details,
    next: [
      `holdfast lock wait ${resource} --wait 2m`,
      maySo ? toBreak : `Only a person may end it before its time. Ask one for: ${toBreak}`,
    ],
  });
}
