/**
 * The guard: a kernel lock on a file of its own, held for microseconds around one step and never across an await.
 *
 * A crash inside leaves nothing of it: the system frees the lock of a process that dies.
 *
 * Only the removal of a whole store takes the file away. If a person deletes it while no process is inside, the next
 * process makes another file in its place. After locking, each process compares its descriptor with the file that the path
 * names, so one that still has the old file open opens the new one.
 *
 * It does not promise that one process is inside at a time when the file is deleted, replaced or moved away while a
 * process is inside: that process goes on under the lock of the old file, and another one locks the new file beside it.
 * Two steps may then run at once, and an update may be lost (`GUARD_DELETED_INSIDE` in models/README.md).
 */
import { closeSync, fstatSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { setImmediate } from "node:timers/promises";
import { HoldfastError, ioError } from "../base/errors.js";
import { sleep } from "../base/sleep.js";
import { makeFolder, openOrMake } from "../platform/folder-rights.js";
import { jittered } from "../platform/jitter.js";
import { tryLockExclusive, unlock } from "../platform/kernel-lock.js";
import { type FolderNames, KnownName } from "./folder-names.js";

/** Tries before the first pause: most guards are free again within some hundred microseconds. A count, for no clock need go on. */
const SPINS = 40;
const LONGEST_PAUSE_MS = 8;
/** Whoever has waited for this long looks more often than those who came later. */
const IMPATIENT_AFTER_MS = 500;
const IMPATIENT_PAUSE_MS = 1;
/** Only a process stopped inside the guard keeps it this long. */
const GIVE_UP_AFTER_MS = 5_000;
/** Where it can be seen that others have their turns: with many of them and a slow disk, one's own may take this long. */
const GIVE_UP_IN_A_CROWD_MS = 60_000;

export interface Guard {
  /** Something that is different after each turn, for guards that show it. */
  turn?(): string;
  /** True when the guard is held now, by this descriptor. */
  tryEnter(): boolean;
  leave(): void;
  close(): void;
}

export interface GuardOptions {
  /** False: where its folder was moved or taken away, none is made in its place. */
  readonly makesFolder?: boolean;
  /** Called before the file, or its folder, may be made anew: throws when it must not be. */
  readonly beforeMaking?: () => void;
  /** A file that those inside write: by its time, others are seen to have their turns. */
  readonly writtenInside?: string;
  /** The names in its folder: as long as they stay, the path is not looked up again. They are looked at with each entering. */
  readonly names?: FolderNames;
}

export function openGuard(path: string, options: GuardOptions = {}): Guard {
  const { writtenInside, names } = options;
  let file = openFile(path, options);
  /** The kernel lets the same descriptor in twice; a step begun from inside another must wait like any other. */
  let isInside = false;
  let isClosed = false;

  const name = new KnownName(names ?? null);
  const isThisFile = (): boolean => {
    names?.look();
    if (name.holds) return true;
    const named = statSync(path, { throwIfNoEntry: false });
    const isSame = named !== undefined && named.ino === file.ino && named.dev === file.dev;
    if (isSame) name.note();
    return isSame;
  };
  const tryEnter = (): boolean => {
    if (isClosed) throw new HoldfastError("E_STORE_UNAVAILABLE", `the guard ${path} was closed`, { reason: "closed" });
    // mutant: guard-twice: isInside || !tryLockExclusive(file.fd)) → !tryLockExclusive(file.fd))
    // mutant: guard: if (isInside || !tryLockExclusive(file.fd)) return false → tryLockExclusive(file.fd)
    if (isInside || !tryLockExclusive(file.fd)) return false;
    try {
      // mutant: guard-made-anew: isInside = isThisFile(); → isInside = isThisFile() || isInside === false;
      isInside = isThisFile();
    } finally {
      if (!isInside) unlock(file.fd);
    }
    if (isInside) return true;
    const { fd } = file;
    file = openFile(path, options);
    closeSync(fd);
    return false;
  };
  const turn = (): string => {
    const stat = writtenInside && statSync(writtenInside, { bigint: true, throwIfNoEntry: false });
    return stat ? `${stat.mtimeNs}` : "";
  };
  return {
    turn,
    tryEnter() {
      try {
        return tryEnter();
      } catch (error) {
        throw ioError(error, "enter the guard", path);
      }
    },
    leave() {
      isInside = false;
      unlock(file.fd);
    },
    close() {
      if (!isClosed) closeSync(file.fd);
      isClosed = true;
    },
  };
}

/** Runs `body`, which is synchronous, inside the guard. Throws what `enterAll` throws. */
export async function underGuard<T>(
  path: string,
  body: () => T,
  { giveUpAfterMs, ...options }: GuardOptions & { readonly giveUpAfterMs?: number | undefined } = {},
): Promise<T> {
  const guard = openGuard(path, options);
  try {
    await enterAll([guard], dirname(path), giveUpAfterMs);
    try {
      return body();
    } finally {
      guard.leave();
    }
  } finally {
    guard.close();
  }
}

/** With its folder, if somebody took that away. */
function openFile(
  path: string,
  { makesFolder = true, beforeMaking }: GuardOptions,
): { readonly fd: number; readonly ino: number; readonly dev: number } {
  try {
    // mutant: guard-made-in-place: beforeMaking?.(); →
    beforeMaking?.();
    if (makesFolder) makeFolder(dirname(path));
    const fd = openOrMake(path);
    try {
      const { ino, dev } = fstatSync(fd);
      return { fd, ino, dev };
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  } catch (error) {
    throw ioError(error, "open the guard", path);
  }
}

/**
 * Enters all guards or waits: none is kept while waiting for another. `E_STORE_UNAVAILABLE` after five seconds, or however
 * long one turn may take, or after a minute where others are seen to have their turns meanwhile.
 */
export async function enterAll(
  guards: readonly Guard[],
  name: string,
  giveUpAfterMs: number = GIVE_UP_AFTER_MS,
): Promise<void> {
  const [guard] = guards;
  // mutant: guard-tried-by-all: === undefined || guards.length > 1) → === undefined || guards.length > 0)
  if (guard === undefined || guards.length > 1) return tryUntilInside(guards, name, giveUpAfterMs);
  const before = lines.get(guard);
  const entering =
    before === undefined
      ? tryUntilInside(guards, name, giveUpAfterMs)
      : before.then(() => setImmediate()).then(() => tryUntilInside(guards, name, giveUpAfterMs));
  lines.set(guard, entering);
  try {
    await entering;
  } finally {
    if (lines.get(guard) === entering) lines.delete(guard);
  }
}

/**
 * Those of this process who wait for one guard stand behind one another: one of them tries, and the next when that one is
 * out again. If it gives up, so do those who stood behind it.
 */
const lines = new WeakMap<Guard, Promise<void>>();

async function tryUntilInside(guards: readonly Guard[], name: string, giveUpAfterMs: number): Promise<void> {
  for (let spin = 0; spin < SPINS; spin += 1) if (tryEnterAll(guards)) return;
  const startedAt = performance.now();
  let turn = turnOf(guards);
  let turnSince = startedAt;
  for (let round = 0; ; round += 1) {
    const isImpatient = performance.now() - startedAt > IMPATIENT_AFTER_MS;
    await sleep(jittered(0, Math.min(isImpatient ? IMPATIENT_PAUSE_MS : LONGEST_PAUSE_MS, 2 ** round)));
    if (tryEnterAll(guards)) return;
    const now = performance.now();
    const turnNow = turnOf(guards);
    if (turn !== turnNow) {
      turn = turnNow;
      turnSince = now;
    }
    if (now - turnSince > giveUpAfterMs || now - startedAt > GIVE_UP_IN_A_CROWD_MS) throw stuck(name, now - startedAt);
  }
}

function turnOf(guards: readonly Guard[]): string {
  return guards.map((guard) => guard.turn?.() ?? "").join();
}

export function tryEnterAll(guards: readonly Guard[]): boolean {
  let entered = 0;
  try {
    while (entered < guards.length && guards[entered]?.tryEnter()) entered += 1;
  } finally {
    if (entered < guards.length) leaveAll(guards.slice(0, entered));
  }
  return entered === guards.length;
}

export function leaveAll(guards: readonly Guard[]): void {
  for (const guard of guards) guard.leave();
}

function stuck(name: string, waitedMs: number): HoldfastError {
  return new HoldfastError(
    "E_STORE_UNAVAILABLE",
    `the guard of ${name} was not free for ${Math.round(waitedMs / 1000)} s`,
    {
      reason: "busy",
      next: ["Look for a process that was stopped (state T in ps) while it used this store, and continue or end it."],
    },
  );
}
