/** The errors that mean that a lease is over. */
import { HoldfastError } from "../support/errors.js";

const LOSS = new Set(["E_LOCK_EXPIRED", "E_FENCING_MISMATCH", "E_LOCK_NOT_HELD"]);

/** Whether the store says that what was held is held no more. */
export function isLoss(error: unknown): error is HoldfastError {
  return error instanceof HoldfastError && LOSS.has(error.code);
}

export function ranOut(keys: readonly string[], fencingToken: number): HoldfastError {
  return new HoldfastError("E_LOCK_EXPIRED", `the lease on ${keys.join(", ")} was not renewed in time`, {
    details: { resources: keys, fencing_token: fencingToken },
    next: ["Acquire again and re-read before writing, or `lease.resume()` if nothing can have changed."],
  });
}

export function notHeld(
  message: string,
  details: Readonly<Record<string, unknown>> = {},
  cause?: unknown,
): HoldfastError {
  return new HoldfastError("E_LOCK_NOT_HELD", message, { details, ...(cause === undefined ? {} : { cause }) });
}
