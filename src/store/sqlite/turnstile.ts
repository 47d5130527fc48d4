/**
 * The turnstile for writers that get into each other's way. It only spreads the turns: what keeps writers apart is
 * SQLite's write lock, so nothing breaks when somebody deletes the file, and nobody checks for that.
 */
import { closeSync, openSync } from "node:fs";
import { ioError } from "../../support/errors.js";
import type { Guard } from "../../support/guard.js";
import { tryLockExclusive, unlock } from "../../support/kernel-lock.js";

export function openTurnstile(path: string): Guard {
  let fd: number;
  try {
    fd = openSync(path, "a+", 0o644);
  } catch (error) {
    throw ioError(error, "open the turnstile", path);
  }
  /** The kernel lets the same descriptor in twice; a step begun from inside another must wait like any other. */
  let isInside = false;
  return {
    tryEnter() {
      if (isInside || !tryLockExclusive(fd)) return false;
      isInside = true;
      return true;
    },
    leave() {
      isInside = false;
      unlock(fd);
    },
    close: () => closeSync(fd),
  };
}
