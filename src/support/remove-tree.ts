/** Removing a tree that nobody needs any more, a few entries at a time, so that neither its size nor others suffer. */
import { rmdirSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { entriesIn } from "./entries-in.js";
import { ioError } from "./errors.js";

/** Entries removed between two looks at what else is to be done. */
const STRIDE = 32;

/** Removes the folder and all in it; one that is not there is fine. Links are removed, not followed. `E_IO` */
export async function removeTree(path: string): Promise<void> {
  try {
    await remove(path);
  } catch (error) {
    throw ioError(error, "remove", path);
  }
}

async function remove(path: string): Promise<void> {
  const entries = entriesIn(path);
  if (entries === null) return;
  let met = 0;
  for (const entry of entries) {
    const inner = join(path, entry.name);
    met += 1;
    if (met % STRIDE === 0) await setImmediate();
    if (entry.isDirectory()) await remove(inner);
    else unlessGone(() => unlinkSync(inner));
  }
  unlessGone(() => rmdirSync(path));
}

function unlessGone(action: () => void): void {
  try {
    action();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}
