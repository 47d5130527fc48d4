/**
 * Removes a tree that is no longer needed. Removing a file waits for the disk: of many files, several are being removed at
 * a time. A few files are removed synchronously, since a hop to the thread pool costs as much.
 */
import { chmodSync, lstatSync, rmdirSync, unlink, unlinkSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { ioError } from "../base/errors.js";
import { Pool } from "../base/pool.js";
import { entriesIn } from "./folder-entries.js";
import { removeOddNames } from "./odd-names.js";
import type { HeldBack } from "./slow-removals.js";

/** Files of a folder. */
const A_FEW = 8;
const UNDER_WAY = 8;
/** Folders between two looks at what else is to be done. */
const STRIDE = 8;

interface Removal {
  /** That of the folder itself, for who knows it. */
  readonly size?: number;
  /** Takes the first few things, so that only their names are waited for. */
  readonly held?: HeldBack;
}

/** Removes the folder and all in it; one that is not there is fine. Links are removed, not followed. `E_IO` */
export async function removeTree(path: string, { size, held }: Removal = {}): Promise<void> {
  try {
    await remove(path, held, size);
  } catch (error) {
    throw ioError(error, "remove", path);
  }
}

/** A folder that was made read-only keeps what is in it: it is opened, when that is what stands in the way. */
async function remove(path: string, held: HeldBack | undefined, size?: number): Promise<void> {
  try {
    await removeAll(path, held, size);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EACCES" || !hasOpened(path)) throw error;
    await removeAll(path, held);
  }
}

function hasOpened(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (!stats?.isDirectory() || (stats.mode & 0o700) === 0o700) return false;
  // mutant: publish-read-only: chmodSync(path, (stats.mode & 0o7777) | 0o700); → void chmodSync;
  chmodSync(path, (stats.mode & 0o7777) | 0o700);
  return true;
}

async function removeAll(path: string, held: HeldBack | undefined, size?: number): Promise<void> {
  const entries = entriesIn(path, size);
  if (entries === null) return;
  const later = new Pool(UNDER_WAY);
  let files = 0;
  let folders = 0;
  try {
    for (const entry of entries) {
      const inner = join(path, entry.name);
      if (entry.isDirectory()) {
        folders += 1;
        if (folders % STRIDE === 0) await setImmediate();
        await remove(inner, held);
      } else {
        files += 1;
        if (files <= A_FEW) {
          held?.hold(inner);
          unlessGone(() => unlinkSync(inner));
        } else await later.add(() => unlinkLater(inner));
      }
    }
  } finally {
    await later.idle();
  }
  later.assertFine();
  held?.hold(path);
  unlessGone(() => removeFolder(path));
}

function removeFolder(path: string): void {
  try {
    rmdirSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOTEMPTY" && code !== "EEXIST") throw error;
    // mutant: remove-odd-names: removeOddNames(path); →
    removeOddNames(path);
    rmdirSync(path);
  }
}

function unlinkLater(path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    unlink(path, (error) => (error === null || error.code === "ENOENT" ? resolve() : reject(error)));
  });
}

function unlessGone(action: () => void): void {
  try {
    action();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}
