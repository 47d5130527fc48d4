/** Repeats work that the server undid, because the connection broke or another transaction was in the way. */

import { isHoldfastError } from "../../../base/errors.js";
import { sleep } from "../../../base/sleep.js";
import { jittered } from "../../../platform/jitter.js";

const TRY_AGAIN_MS = 4_000;
const FIRST_PAUSE_MS = 20;

/** `work` must bear being done twice. Anything but `E_STORE_UNAVAILABLE` is thrown at once. */
export async function tryAgain<T>(work: () => Promise<T>, forMs = TRY_AGAIN_MS): Promise<T> {
  const startedAt = performance.now();
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs *= 2)
    try {
      return await work();
    } catch (error) {
      // mutant: job-deadlock: isUndone = isHoldfastError(error, "E_STORE_UNAVAILABLE"); → isUndone = false;
      const isUndone = isHoldfastError(error, "E_STORE_UNAVAILABLE");
      if (!isUndone || performance.now() - startedAt > forMs) throw error;
      await sleep(jittered(0.5 * pauseMs, 1.5 * pauseMs));
    }
}
