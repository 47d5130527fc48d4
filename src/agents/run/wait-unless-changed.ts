/**
 * Waits in the queue for a run whose other hooks may request the same keys at the same time. A lock that another hook
 * of the run was granted is the run's own and not a reason to wait, so a waiting hook checks now and then whether its
 * request is still the same.
 */
import { sleep } from "../../base/sleep.js";

const LOOK_EVERY_MS = 200;
const CHANGED = new Error("what is missing has changed");

/** Null when there is something else to ask for now; nothing is left in line then. */
export async function unlessChanged<T>(
  isSame: () => Promise<boolean>,
  ask: (changed: AbortSignal) => Promise<T>,
): Promise<T | null> {
  const [changed, over] = [new AbortController(), new AbortController()];
  const looking = lookUntilChanged(isSame, over.signal).then(() => changed.abort(CHANGED));
  try {
    return await ask(changed.signal);
  } catch (error) {
    if (error === CHANGED) return null;
    throw error;
  } finally {
    over.abort();
    await looking;
  }
}

/** Whatever keeps it from looking, it is for who looks next to say so. */
async function lookUntilChanged(isSame: () => Promise<boolean>, over: AbortSignal): Promise<void> {
  try {
    do await sleep(LOOK_EVERY_MS, over);
    while (await isSame());
  } catch {}
}
