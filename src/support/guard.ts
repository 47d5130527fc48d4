/**
 * The guard: a kernel lock on a file of its own, held for microseconds around one step and never across an await. When
 * its process dies inside, the system frees it. The file is never deleted; if somebody deletes it all the same, a new
 * one is another file, so after locking the descriptor is compared with what the path names now.
 */
import { closeSync, fstatSync, openSync, type Stats, statSync } from "node:fs";
import { sleep } from "./deadline.js";
import { HoldfastError, ioError } from "./errors.js";
import { tryLockExclusive, unlock } from "./kernel-lock.js";

/** Tries before the first pause: most guards are free again within these few microseconds. */
const SPINS = 20;
const LONGEST_PAUSE_MS = 8;
/** Only a process stopped inside the guard keeps it this long. */
const GIVE_UP_AFTER_MS = 5_000;

export interface Guard {
  /** True when the guard is held now, by this descriptor. */
  tryEnter(): boolean;
  leave(): void;
  close(): void;
}

export function openGuard(path: string): Guard {
  let fd = openFile(path);
  let identity: Stats = fstatSync(fd);
  /** The kernel lets the same descriptor in twice; a step begun from inside another must wait like any other. */
  let isInside = false;

  const reopen = (): void => {
    closeSync(fd);
    fd = openFile(path);
    identity = fstatSync(fd);
  };
  const isThisFile = (): boolean => {
    const named = statSync(path, { throwIfNoEntry: false });
    return named !== undefined && named.ino === identity.ino && named.dev === identity.dev;
  };
  return {
    tryEnter() {
      if (isInside || !tryLockExclusive(fd)) return false;
      isInside = isThisFile();
      if (isInside) return true;
      unlock(fd);
      reopen();
      return false;
    },
    leave() {
      isInside = false;
      unlock(fd);
    },
    close: () => closeSync(fd),
  };
}

function openFile(path: string): number {
  try {
    return openSync(path, "a+", 0o644);
  } catch (error) {
    throw ioError(error, "open the guard", path);
  }
}

/** Enters all guards or waits: none is kept while waiting for another. `E_STORE_UNAVAILABLE` after five seconds. */
export async function enterAll(guards: readonly Guard[], name: string): Promise<void> {
  const startedAt = performance.now();
  for (let round = 0; ; round += 1) {
    for (let spin = 0; spin < SPINS; spin += 1) if (tryEnterAll(guards)) return;
    if (performance.now() - startedAt > GIVE_UP_AFTER_MS) throw stuck(name);
    await sleep(Math.random() * Math.min(LONGEST_PAUSE_MS, 2 ** round));
  }
}

export function tryEnterAll(guards: readonly Guard[]): boolean {
  for (let at = 0; at < guards.length; at += 1) {
    if (guards[at]?.tryEnter()) continue;
    leaveAll(guards.slice(0, at));
    return false;
  }
  return true;
}

export function leaveAll(guards: readonly Guard[]): void {
  for (const guard of guards) guard.leave();
}

function stuck(name: string): HoldfastError {
  return new HoldfastError(
    "E_STORE_UNAVAILABLE",
    `the guard of ${name} was not free for ${GIVE_UP_AFTER_MS / 1000} s`,
    {
      next: ["Look for a process that was stopped (state T in ps) while it used this store, and continue or end it."],
    },
  );
}
