/**
 * Kernel file locks: taken away by the system when the process that holds the descriptor dies. On Linux these are
 * open-file-description locks, so two descriptors of one process exclude each other too, and closing an unrelated
 * descriptor of the same file loses nothing. Only non-blocking tries: a blocking one would occupy a thread of libuv's
 * small pool for as long as it waits.
 */
import native from "fs-native-extensions";

export function tryLockExclusive(fd: number): boolean {
  return native.tryLock(fd);
}

export function tryLockShared(fd: number): boolean {
  return native.tryLock(fd, { shared: true });
}

/** A single byte of the file, apart from all others. */
export function tryLockByte(fd: number, at: number, { shared }: { readonly shared: boolean }): boolean {
  return native.tryLock(fd, at, 1, { shared });
}

export function unlock(fd: number): void {
  native.unlock(fd);
}
