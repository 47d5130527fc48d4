/**
 * The turnstile for writers that contend for the database. It only spreads their turns: SQLite's write lock keeps writers
 * apart, so nothing breaks when the file is deleted, and no writer checks for that.
 *
 * A writer that gets in leaves a mark of its own in the file now and then, so that the waiters can distinguish many short
 * turns from one writer that is stuck.
 */
import { randomBytes } from "node:crypto";
import { closeSync, readSync, writeSync } from "node:fs";
import { HoldfastError, ioError } from "../../../base/errors.js";
import type { Guard } from "../../../files/guard.js";
import { openOrMake } from "../../../platform/folder-rights.js";
import { tryLockExclusive, unlock } from "../../../platform/kernel-lock.js";

/** A count, and something to tell two who count alike. */
const MARK_BYTES = 12;
/** Nobody looks for marks more often than this tells them apart from somebody who is stuck for seconds. */
const MARK_EVERY_MS = 250;

export function openTurnstile(path: string): Guard {
  let fd: number;
  try {
    fd = openOrMake(path);
  } catch (error) {
    throw ioError(error, "open the turnstile", path);
  }
  /** The kernel lets the same descriptor in twice; a step begun from inside another must wait like any other. */
  let isInside = false;
  /** The number may be another file's by now, which those who still wait must not lock, write or unlock. */
  let isClosed = false;
  const mark = randomBytes(MARK_BYTES);
  const seen = Buffer.alloc(MARK_BYTES);
  let markedAt = Number.NEGATIVE_INFINITY;
  return {
    tryEnter() {
      // mutant: turnstile-closed: if (isClosed) → if (isClosed && isInside)
      if (isClosed)
        throw new HoldfastError("E_STORE_UNAVAILABLE", `the turnstile ${path} was closed`, { reason: "closed" });
      if (isInside || !tryLockExclusive(fd)) return false;
      isInside = true;
      const now = performance.now();
      if (now - markedAt < MARK_EVERY_MS) return true;
      markedAt = now;
      mark.writeUInt32LE((mark.readUInt32LE(0) + 1) >>> 0, 0);
      leaveMark(fd, mark);
      return true;
    },
    turn() {
      readSync(fd, seen, 0, MARK_BYTES, 0);
      return seen.toString("latin1");
    },
    leave() {
      isInside = false;
      if (!isClosed) unlock(fd);
    },
    close() {
      if (!isClosed) closeSync(fd);
      isClosed = true;
    },
  };
}

/** It only helps others to wait: a disk that is full does not keep anybody out. */
function leaveMark(fd: number, mark: Buffer): void {
  try {
    writeSync(fd, mark, 0, MARK_BYTES, 0);
  } catch {
    // They take the crowd for somebody who is stuck, and say so after five seconds.
  }
}
