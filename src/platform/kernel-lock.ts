/**
 * Kernel file locks: taken away by the system when the process that holds the descriptor dies. On Linux these are
 * open-file-description locks, so two descriptors of one process exclude each other too, and closing an unrelated
 * descriptor of the same file loses nothing. Only non-blocking tries: a blocking one would occupy a thread of libuv's
 * small pool for as long as it waits.
 */
import native from "fs-native-extensions";

export function tryLockExclusive(fd: number): boolean {
  return tryLock(fd, 0, WHOLE_FILE, EXCLUSIVE);
}

export function tryLockShared(fd: number): boolean {
  return tryLock(fd, 0, WHOLE_FILE, SHARED);
}

/** A single byte of the file, apart from all others. */
export function tryLockByte(fd: number, at: number, { shared }: { readonly shared: boolean }): boolean {
  return tryLock(fd, at, 1, shared ? SHARED : EXCLUSIVE);
}

const WHOLE_FILE = 0;
const EXCLUSIVE = { shared: false };
const SHARED = { shared: true };

/** A try in vain throws inside, and more than half of its price is the stack of that error, which nobody gets to see. */
function tryLock(fd: number, at: number, length: number, how: { readonly shared: boolean }): boolean {
  const { stackTraceLimit } = Error;
  Reflect.set(Error, "stackTraceLimit", 0); // Where a program has frozen it, it stays as it is.
  try {
    return native.tryLock(fd, at, length, how);
  } finally {
    Reflect.set(Error, "stackTraceLimit", stackTraceLimit);
  }
}

export function unlock(fd: number): void {
  native.unlock(fd);
}
