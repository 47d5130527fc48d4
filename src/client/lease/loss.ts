/** Recognizes and makes the errors that mean that a lease is over. */
import { HoldfastError } from "../../base/errors.js";
import { isLostStore } from "../../base/lost-store.js";

const LOSS = new Set(["E_LOCK_EXPIRED", "E_FENCING_MISMATCH", "E_LOCK_NOT_HELD"]);

/** Whether the store says that what was held is held no more, or is lost itself. */
export function isLoss(error: unknown): error is HoldfastError {
  return error instanceof HoldfastError && (LOSS.has(error.code) || isLostStore(error));
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

/**
 * The caller's own function, with what it throws noted: an error from there may tell of another lease, and says nothing of
 * the one it runs under. To whoever looks at it, it is the same function still.
 */
export function noting<Args extends unknown[], Result>(
  run: (...args: Args) => Result,
  thrown: Set<unknown>,
): (...args: Args) => Result {
  if (typeof run !== "function") return run; // Refused where it would be called.
  return new Proxy(run, {
    apply(target, self, args: Args) {
      try {
        const result = Reflect.apply(target, self, args);
        if (result instanceof Promise) result.catch((error: unknown) => thrown.add(error));
        return result;
      } catch (error) {
        thrown.add(error);
        throw error;
      }
    },
  });
}
