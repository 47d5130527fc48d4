/** Removing a tree that nobody needs any more, a few entries at a time, so that neither its size nor others suffer. */
import { chmodSync, lstatSync, rmdirSync, unlinkSync } from "node:fs";
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

/** A folder that was made read-only keeps what is in it: it is opened, when that is what stands in the way. */
async function remove(path: string): Promise<void> {
  try {
    await removeAll(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EACCES" || !hasOpened(path)) throw error;
    await removeAll(path);
  }
}

function hasOpened(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (!stats?.isDirectory() || (stats.mode & 0o700) === 0o700) return false;
  chmodSync(path, (stats.mode & 0o7777) | 0o700);
  return true;
}

async function removeAll(path: string): Promise<void> {
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
