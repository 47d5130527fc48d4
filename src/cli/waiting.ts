/** Waiting on the board, bounded: `--wait`, ten minutes unless said otherwise. */
import { parseDuration } from "../lease/duration.js";
import { HoldfastError } from "../support/errors.js";
import type { Context } from "./context.js";

const DEFAULT_WAIT = "10m";

/** `E_LOCK_TIMEOUT` when the time is up; what Ctrl-C gives otherwise. */
export async function waitingFor<T>(
  context: Context,
  what: string,
  wait: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const text = context.flags.text("wait") ?? DEFAULT_WAIT;
  const ms = parseDuration(text, "wait", { atLeastMs: 0, atMostMs: 24 * 3_600_000 });
  const over = AbortSignal.timeout(ms);
  try {
    return await wait(AbortSignal.any([context.signal, over]));
  } catch (error) {
    if (!over.aborted || error !== over.reason) throw error;
    throw new HoldfastError("E_LOCK_TIMEOUT", `${what} did not come within ${text}`, {
      next: ["Wait longer with --wait."],
    });
  }
}
