/**
 * Kernel file locks for tools that need nothing else: no lease, no fencing token, no store.
 *
 *     const locker = await openFileLocker(".locks");
 *     await using guard = await locker.lockExclusive("build");
 *
 * Each name has its own file, `<dir>/<encoded name>.lock`, apart from the data it protects. The lock is on the open
 * descriptor, so the kernel frees it when the process dies, however it dies; a file that lies there means nothing.
 * Lock files are never deleted: a process that opened the old file and one that creates a new file would both hold the lock.
 *
 * A wait goes like this: open the file and keep the descriptor, try without blocking, pause, try again; once locked, check
 * that the path still leads to the locked file, else open again. A waiter keeps the descriptor because the file may be
 * deleted: it then still waits for the present holder, and only afterwards moves on to the new file.
 *
 * Not promised: a queue (waiters race, and steady readers can starve a writer), protection from a program that deletes the
 * file while it is held (a newcomer cannot see the old one), exclusion between machines or over a network file system,
 * re-entry (a second lock of the same name waits for the first, also in one process).
 */
import { closeSync, constants, fstatSync, lstatSync, openSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { checkOptions, type OptionNames } from "../../base/check-options.js";
import { HoldfastError, invalidArgument, ioError } from "../../base/errors.js";
import { plainName } from "../../files/plain-name.js";
import { requireParent } from "../../files/required-folder.js";
import { jittered } from "../../platform/jitter.js";
import { tryLockExclusive, tryLockShared, unlock } from "../../platform/kernel-lock.js";

const DEFAULT_TIMEOUT_MS = 5_000;
const MAX_TIMEOUT_MS = 24 * 60 * 60 * 1_000;
/** With `.lock` behind it this stays well below the 255 bytes that file systems allow. */
const MAX_NAME_BYTES = 200;
const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 25;
/** Only a file deleted again and again in the microseconds between open and lock uses these up. */
const MAX_REOPENS = 16;

export type FileLockMode = "exclusive" | "shared";

export interface FileLockerOptions {
  /** Default for every wait of this locker. Without it `HOLDFAST_LOCK_TIMEOUT` (seconds) counts, then 5 s. */
  readonly timeoutMs?: number;
}

export interface FileLockOptions {
  /** How long to wait, 0 (one try) to 24 h. */
  readonly timeoutMs?: number;
  /** Ends the wait: the promise rejects with the signal's reason. A lock already held is not affected. */
  readonly signal?: AbortSignal;
}

const OPEN: OptionNames<FileLockerOptions> = { timeoutMs: true };
const LOCK: OptionNames<FileLockOptions> = { timeoutMs: true, signal: true };

/** A lock in hand. It lasts until `release()`, the end of its `using` scope, `close()` of its locker, or the process. */
export interface FileGuard extends Disposable, AsyncDisposable {
  readonly name: string;
  /** The lock file. */
  readonly path: string;
  readonly mode: FileLockMode;
  /** Idempotent. */
  release(): void;
}

/** Every method throws `E_INVALID_ARGUMENT` on a bad name or a closed locker, and `E_IO` when the lock file cannot be used. */
export interface FileLocker extends Disposable, AsyncDisposable {
  readonly dir: string;
  /** Throws `E_LOCK_TIMEOUT`. */
  lockExclusive(name: string, options?: FileLockOptions): Promise<FileGuard>;
  /** Throws `E_LOCK_TIMEOUT`. */
  lockShared(name: string, options?: FileLockOptions): Promise<FileGuard>;
  /** `null` when somebody else has it. */
  tryLockExclusive(name: string): Promise<FileGuard | null>;
  /** `null` when somebody has it exclusively. */
  tryLockShared(name: string): Promise<FileGuard | null>;
  /** Releases all that is held through this locker and ends its waits. Idempotent. */
  close(): void;
}

/** Opens `dir` (created when missing, in a folder that is there) for locking. Throws `E_INVALID_ARGUMENT`, `E_IO`, and `E_CONFIG` on a bad `HOLDFAST_LOCK_TIMEOUT`. */
export async function openFileLocker(dir: string, options: FileLockerOptions = {}): Promise<FileLocker> {
  if (typeof dir !== "string" || dir === "") throw invalidArgument("dir", "must be a path");
  checkOptions(options, OPEN);
  const timeoutMs = checkTimeout(options.timeoutMs ?? timeoutFromEnvironment(process.env));
  const folder = resolve(dir);
  requireParent(folder, "dir");
  try {
    await mkdir(folder, { recursive: true });
  } catch (error) {
    throw ioError(error, "create", folder);
  }
  return new KernelFileLocker(folder, timeoutMs);
}

class KernelFileLocker implements FileLocker {
  readonly dir: string;
  readonly #timeoutMs: number;
  readonly #held = new Set<FileGuard>();
  #closed = false;

  constructor(dir: string, timeoutMs: number) {
    this.dir = dir;
    this.#timeoutMs = timeoutMs;
  }

  lockExclusive(name: string, options: FileLockOptions = {}): Promise<FileGuard> {
    return this.#wait(name, "exclusive", options);
  }

  lockShared(name: string, options: FileLockOptions = {}): Promise<FileGuard> {
    return this.#wait(name, "shared", options);
  }

  tryLockExclusive(name: string): Promise<FileGuard | null> {
    return this.#try(name, "exclusive");
  }

  tryLockShared(name: string): Promise<FileGuard | null> {
    return this.#try(name, "shared");
  }

  close(): void {
    this.#closed = true;
    for (const guard of this.#held) guard.release();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }

  async #try(name: string, mode: FileLockMode): Promise<FileGuard | null> {
    const file = this.#open(name);
    try {
      if (file.tryLock(mode)) return this.#guard(name, mode, file);
    } catch (error) {
      file.close();
      throw error;
    }
    file.close();
    return null;
  }

  async #wait(name: string, mode: FileLockMode, options: FileLockOptions): Promise<FileGuard> {
    checkOptions(options, LOCK);
    const { timeoutMs, signal } = options;
    const limitMs = checkTimeout(timeoutMs ?? this.#timeoutMs);
    const deadline = performance.now() + limitMs;
    signal?.throwIfAborted();
    const file = this.#open(name);
    try {
      for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
        if (file.tryLock(mode)) return this.#guard(name, mode, file);
        const leftMs = deadline - performance.now();
        if (leftMs <= 0) throw timedOut(name, mode, file.path, limitMs);
        // Jitter keeps waiters that started together from trying together. An abort only cuts the pause short here.
        const jitteredMs = jittered(pauseMs / 2, pauseMs);
        await sleep(Math.min(jitteredMs, leftMs), undefined, signal === undefined ? {} : { signal }).catch(() => {});
        signal?.throwIfAborted();
        this.#assertOpen();
      }
    } catch (error) {
      file.close();
      throw error;
    }
  }

  #open(name: string): LockFile {
    this.#assertOpen();
    return new LockFile(join(this.dir, `${encodeName(name)}.lock`));
  }

  #assertOpen(): void {
    if (this.#closed) throw invalidArgument("locker", `the locker of ${this.dir} is closed`, "Open another one.");
  }

  #guard(name: string, mode: FileLockMode, file: LockFile): FileGuard {
    const release = (): void => {
      if (this.#held.delete(guard)) file.unlockAndClose();
    };
    const guard: FileGuard = {
      name,
      path: file.path,
      mode,
      release,
      [Symbol.dispose]: release,
      [Symbol.asyncDispose]: async () => release(),
    };
    this.#held.add(guard);
    return guard;
  }
}

/** An open lock file that knows whether its path still leads to it. */
class LockFile {
  readonly path: string;
  #fd: number;

  constructor(path: string) {
    this.path = path;
    this.#fd = openLockFile(path);
  }

  tryLock(mode: FileLockMode): boolean {
    for (let i = 0; i < MAX_REOPENS; i++) {
      try {
        if (!(mode === "exclusive" ? tryLockExclusive(this.#fd) : tryLockShared(this.#fd))) return false;
        if (this.#isAtPath()) return true;
      } catch (error) {
        throw ioError(error, "lock", this.path);
      }
      const next = openLockFile(this.path);
      closeSync(this.#fd);
      this.#fd = next;
    }
    return false;
  }

  /** Unlocks first: a child between fork and exec shares the descriptor, so closing alone could free it late. */
  unlockAndClose(): void {
    try {
      unlock(this.#fd);
    } finally {
      this.close();
    }
  }

  close(): void {
    closeSync(this.#fd);
  }

  #isAtPath(): boolean {
    const ours = fstatSync(this.#fd, { bigint: true });
    const there = lstatSync(this.path, { bigint: true, throwIfNoEntry: false });
    return there !== undefined && there.dev === ours.dev && there.ino === ours.ino;
  }
}

/** No symlinks: one planted in the folder would have us create or lock a file elsewhere. */
function openLockFile(path: string): number {
  try {
    return openSync(path, constants.O_RDWR | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0), 0o666);
  } catch (error) {
    throw ioError(error, "open lock file", path);
  }
}

function encodeName(name: string): string {
  if (typeof name !== "string" || name === "") throw invalidArgument("name", "must be a string that is not empty");
  if (Buffer.from(name).toString() !== name) throw invalidArgument("name", "is not well-formed Unicode");
  const encoded = plainName(name);
  if (encoded.length > MAX_NAME_BYTES) {
    throw invalidArgument(
      "name",
      `takes ${encoded.length} bytes when encoded, ${MAX_NAME_BYTES} at most`,
      "Use a shorter name; everything but a-z 0-9 . _ - + = , @ ~ takes three bytes for one.",
    );
  }
  return encoded;
}

function checkTimeout(timeoutMs: number): number {
  if (typeof timeoutMs === "number" && timeoutMs >= 0 && timeoutMs <= MAX_TIMEOUT_MS) return timeoutMs;
  throw invalidArgument("timeoutMs", `must be a number from 0 to ${MAX_TIMEOUT_MS}, not ${String(timeoutMs)}`);
}

function timeoutFromEnvironment(env: NodeJS.ProcessEnv): number {
  const text = env.HOLDFAST_LOCK_TIMEOUT;
  if (text === undefined || text === "") return DEFAULT_TIMEOUT_MS;
  const timeoutMs = /^\d+(\.\d+)?$/.test(text) ? Number(text) * 1_000 : Number.NaN;
  if (timeoutMs <= MAX_TIMEOUT_MS) return timeoutMs;
  throw new HoldfastError("E_CONFIG", `HOLDFAST_LOCK_TIMEOUT is not a number of seconds from 0 to 86400: ${text}`, {
    reason: "invalid_value",
    details: { field: "HOLDFAST_LOCK_TIMEOUT", value: text },
    next: ["Set HOLDFAST_LOCK_TIMEOUT to seconds, such as 5 or 0.5, or unset it."],
  });
}

function timedOut(name: string, mode: FileLockMode, path: string, timeoutMs: number): HoldfastError {
  return new HoldfastError("E_LOCK_TIMEOUT", `${mode} lock "${name}" was not free within ${timeoutMs} ms: ${path}`, {
    details: { name, mode, path, timeout_ms: timeoutMs },
    next: [
      `See which processes have it open: lsof '${path}'`,
      "Wait longer with timeoutMs or HOLDFAST_LOCK_TIMEOUT (seconds). Deleting the file would not free the lock safely.",
    ],
  });
}
