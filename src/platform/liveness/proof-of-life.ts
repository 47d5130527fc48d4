/**
 * Proof of life: a process that holds anything keeps a kernel lock on a file of its own, `alive/<nonce>`, for as long
 * as it lives. The kernel frees the lock the moment the process is gone, however it went, so any process can find out
 * by trying it: granted means dead. A stopped process keeps its lock. There is no pid to be reused.
 *
 * A file that is missing, or is not the very file the record names (same device, inode and time of birth), is "gone" and
 * proves nothing by itself. One that cannot be opened is "unknown". The file is removed only by its own process.
 */
import { randomBytes } from "node:crypto";
import { closeSync, fstatSync, ftruncateSync, openSync, statSync, unlinkSync, writeSync } from "node:fs";
import { join } from "node:path";
import { ioError } from "../../base/errors.js";
import { createFile, makeFolder } from "../folder-rights.js";
import { tryLockExclusive, tryLockShared } from "../kernel-lock.js";
import { namesIn } from "../look-up.js";
import { lifeOfCommand } from "./command-mark.js";

/** The file is padded, and its last byte is there to be written by whoever wants to wake this process. */
export const WAKE_BYTE_AT = 511;

/** What is kept of a name that is too long: of three there is room beside the nonce. */
const SHORTENED = 48;
const SWEEP_AT_MOST = 64;

export type Life = "alive" | "dead" | "unknown";
/** `gone`: the name is free, or another file has it by now. */
export type ProofState = Life | "gone";

export interface ProofOfLife {
  readonly nonce: string;
  readonly path: string;
  /** Tells this file from any other that may later have its name. */
  readonly identity: string;
  /** Gives the proof up. The file goes, unless something is left that it proves dead. */
  close(keepsFile?: boolean): void;
}

const NONCE = /^[0-9a-f]{24}$/;

export function newNonce(): string {
  return randomBytes(12).toString("hex");
}

/** `lock` takes the lock that proves it; the whole file unless said otherwise. */
export function openProofOfLife(
  dir: string,
  nonce: string,
  about: Readonly<Record<string, unknown>>,
  lock: (fd: number) => boolean = tryLockExclusive,
): ProofOfLife {
  const path = join(dir, nonce);
  let fd = -1;
  try {
    makeFolder(dir);
    fd = createFile(path, "wx+");
    if (!lock(fd)) throw new Error("a new file was locked by someone else");
    writeSync(fd, firstLine({ nonce, ...about }));
    return {
      nonce,
      path,
      identity: identityOf(fd),
      close: once((keepsFile) => (keepsFile ? closeSync(fd) : giveUp(fd, path))),
    };
  } catch (error) {
    if (fd >= 0) giveUp(fd, path); // The next try needs the name again.
    throw ioError(error, "create the proof of life", path);
  }
}

/** Ends with the byte that wakes, however much is told in it and in whatever script: what follows has a fixed place. */
function firstLine(about: Readonly<Record<string, unknown>>): Buffer {
  const whole = JSON.stringify(about);
  const text = Buffer.byteLength(whole) <= WAKE_BYTE_AT ? whole : JSON.stringify(about, shortened);
  const line = Buffer.alloc(WAKE_BYTE_AT + 1, " ");
  line.write(text, 0, WAKE_BYTE_AT);
  line.write("\n", WAKE_BYTE_AT);
  return line;
}

function shortened(_name: string, value: unknown): unknown {
  return typeof value === "string" ? value.slice(0, SHORTENED) : value;
}

function giveUp(fd: number, path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // Already gone with its folder: nothing is left to prove.
  }
  closeSync(fd);
}

function once(action: (keepsFile: boolean) => void): (keepsFile?: boolean) => void {
  let done = false;
  return (keepsFile = false) => {
    if (done) return;
    done = true;
    action(keepsFile);
  };
}

/**
 * Removes proofs of processes that have been gone for this long. A few at a time. How old a file is says nothing about
 * when its process died: it is emptied when first found dead, and that moment counts.
 */
export function sweepProofs(dir: string, goneForMs: number): void {
  const limit = Date.now() - goneForMs;
  const names = namesToTidy(dir).filter((name) => NONCE.test(name));
  const from = Math.floor(Math.random() * Math.max(1, names.length - SWEEP_AT_MOST + 1));
  for (const name of names.slice(from, from + SWEEP_AT_MOST)) {
    try {
      sweep(join(dir, name), limit);
    } catch {
      // Somebody else's, or gone: not ours to tidy.
    }
  }
}

/** None where this user may not list them: there is nothing for it to tidy. */
function namesToTidy(dir: string): string[] {
  try {
    return namesIn(dir);
  } catch {
    return [];
  }
}

function sweep(path: string, limit: number): void {
  const fd = openSync(path, "r+");
  try {
    const { mtimeMs, size } = fstatSync(fd);
    if (mtimeMs >= limit || !tryLockShared(fd) || lifeOfCommand(path) !== "dead") return;
    if (size > 0) ftruncateSync(fd, 0);
    else unlinkSync(path);
  } finally {
    closeSync(fd);
  }
}

export function identityOf(fd: number): string {
  const { dev, ino, birthtimeNs } = fstatSync(fd, { bigint: true });
  return `${dev}:${ino}:${birthtimeNs}`;
}

/** Tries the kernel lock of the proof file that a record names by nonce and identity. */
export function probeLife(dir: string, nonce: string, identity: string): ProofState {
  return tryLockOf(join(dir, nonce), identity);
}

/**
 * The same of whatever lies in the folder of proofs. A proof is locked before anything is written into it, so an empty one is
 * just being made, or was swept: nothing is said of it, and it is not tried, which would keep its maker from locking it.
 */
export function lifeOfAny(path: string): Life {
  // mutant: proof-not-begun: ?.size ? lifeOfFile(path) : "unknown" → ? lifeOfFile(path) : "unknown"
  return statSync(path, { throwIfNoEntry: false })?.size ? lifeOfFile(path) : "unknown";
}

/** The same of a proof file that is known to be made; what it proves is only about the process that made it. */
export function lifeOfFile(path: string): Life {
  const state = tryLockOf(path, null);
  return state === "gone" ? "unknown" : state;
}

function tryLockOf(path: string, identity: string | null): ProofState {
  let fd: number;
  try {
    fd = openSync(path, "r");
  } catch (error) {
    // mutant: proof-denied: code === "ENOENT" ? "gone" → code !== "" ? "gone"
    return (error as NodeJS.ErrnoException).code === "ENOENT" ? "gone" : "unknown";
  }
  try {
    // mutant: proof-identity: if (identity !== null && identityOf(fd) !== identity) return "gone"; →
    if (identity !== null && identityOf(fd) !== identity) return "gone";
    // mutant: proof-of-death: return tryLockShared(fd) ? lifeOfCommand(path) : "alive"; → return "alive";
    return tryLockShared(fd) ? lifeOfCommand(path) : "alive";
  } catch {
    return "unknown";
  } finally {
    closeSync(fd);
  }
}
