/**
 * Checks whether files of an ended publish may still be on the disk. Files that were seen to be gone do not come back,
 * so a process looks once at each manifest that it remembers.
 */
import { leftoversOf, placeAt } from "../platform/exchange.js";

interface Ended {
  readonly tmpPath: string;
  readonly isCleared: boolean;
}

const gone = new WeakSet<Ended>();

/** What cannot be looked at may be there. */
export function mayBeLeft(manifest: Ended): boolean {
  if (manifest.isCleared || gone.has(manifest)) return false;
  try {
    if (leftoversOf(manifest.tmpPath).some((path) => placeAt(path) !== "absent")) return true;
  } catch {
    return true;
  }
  noteGone(manifest);
  return false;
}

/** Its publisher has removed what it replaced. */
export function noteGone(manifest: Ended): void {
  gone.add(manifest);
}
