/**
 * Standing in line in the name of a run of which other hooks ask at the same time. What one of them is given is the run's
 * own, and no reason to wait: so whoever stands in line looks now and then whether it is still to ask for the same.
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
