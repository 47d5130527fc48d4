/** `holdfast lock steal KEY`: a detached grant, taken over from a holder that is gone. */
import { HoldfastError, isHoldfastError } from "../../support/errors.js";
import type { Context, Outcome } from "../context.js";
import { take } from "../taking.js";

export async function run(context: Context): Promise<Outcome> {
  try {
    return await take(context, "steal");
  } catch (error) {
    if (!isHoldfastError(error, "E_NOT_FOUND")) throw error;
    const resource = context.arg("KEY");
    throw new HoldfastError(error.code, error.message, {
      cause: error,
      details: { ...error.details, resource },
      next: [`holdfast lock acquire ${resource}`],
    });
  }
}
